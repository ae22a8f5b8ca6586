package schedule

import "time"

const (
	allMinutes = 1<<60 - 1
	allHours   = 1<<24 - 1
	allDates   = 1<<32 - 1
	allMonths  = 1<<13 - 1
)

// calendar is a set of wall clock minutes. Each field is a bit set indexed by the number that a wall clock shows, Sunday being 0.
type calendar struct {
	minutes, hours, dates, months, weekdays uint64
	// eitherDay: one of dates and weekdays is enough.
	eitherDay bool
}

// at says whether the minute of wall is in the set, and until when that answer holds at least. Answering for a whole day or
// hour where it can is what keeps a search over years short.
func (c calendar) at(wall time.Time) (active bool, until time.Time) {
	switch {
	case !c.hasDay(wall):
		return false, endOf(wall, 24*time.Hour)
	case c.hours == allHours && c.minutes == allMinutes:
		return true, endOf(wall, 24*time.Hour)
	case !has(c.hours, wall.Hour()):
		return false, endOf(wall, time.Hour)
	case c.minutes == allMinutes:
		return true, endOf(wall, time.Hour)
	}
	return has(c.minutes, wall.Minute()), endOf(wall, time.Minute)
}

func (c calendar) hasDay(wall time.Time) bool {
	date, weekday := has(c.dates, wall.Day()), has(c.weekdays, int(wall.Weekday()))
	if !has(c.months, int(wall.Month())) {
		return false
	}
	if c.eitherDay {
		return date || weekday
	}
	return date && weekday
}

func has(set uint64, n int) bool { return set&(1<<n) != 0 }

// endOf is the end of the day, hour or minute of wall, which is a UTC time, so that units are aligned to it.
func endOf(wall time.Time, unit time.Duration) time.Time { return wall.Truncate(unit).Add(unit) }
