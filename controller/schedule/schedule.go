package schedule

import "time"

// horizon bounds every search. Between two 29ths of February lie up to eight years, and nothing that recurs is rarer.
const horizon = 9 * 366 * 24 * time.Hour

// Schedule is a parsed spec.schedule. Parse makes it; the zero value is of no use. It is safe for concurrent use.
type Schedule struct {
	calendar calendar
	zone     *time.Location
}

// Active says whether t is covered.
func (s Schedule) Active(t time.Time) bool {
	active, _ := s.calendar.at(wallClock(t, s.zone))
	return active
}

// NextStart is the first instant after t, in UTC, at which Active turns true. It is false when there is none within nine years:
// the schedule covers nothing, as 30 February does, or is covering everything.
func (s Schedule) NextStart(t time.Time) (time.Time, bool) { return s.nextTurn(t, true) }

// NextEnd is the first instant after t, in UTC, at which Active turns false. It is false when there is none within nine years.
func (s Schedule) NextEnd(t time.Time) (time.Time, bool) { return s.nextTurn(t, false) }

// nextTurn finds the first instant after t at which Active becomes want, having been otherwise.
func (s Schedule) nextTurn(t time.Time, want bool) (time.Time, bool) {
	if s.Active(t) == want {
		other, ok := s.first(t, !want)
		if !ok {
			return time.Time{}, false
		}
		t = other
	}
	return s.first(t, want)
}

// first is the first instant from t on at which Active is want. Only while the zone's offset stays the same does its wall clock
// run evenly, so the search goes from one change of offset to the next.
func (s Schedule) first(t time.Time, want bool) (time.Time, bool) {
	limit := t.Add(horizon)
	for t.Before(limit) {
		end := limit
		if _, change := t.In(s.zone).ZoneBounds(); !change.IsZero() && change.Before(limit) {
			end = change
		}
		if at, ok := s.firstBefore(end, t, want); ok {
			return at.UTC(), true
		}
		t = end
	}
	return time.Time{}, false
}

// firstBefore is first up to end, with one offset all the way.
func (s Schedule) firstBefore(end, t time.Time, want bool) (time.Time, bool) {
	wall := wallClock(t, s.zone)
	for t.Before(end) {
		active, until := s.calendar.at(wall)
		if active == want {
			return t, true
		}
		t, wall = t.Add(until.Sub(wall)), until
	}
	return time.Time{}, false
}

// wallClock is what a clock in zone shows at t, as a UTC time, on which hours and days are all of one length.
func wallClock(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}
