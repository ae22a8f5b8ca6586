package schedule

import (
	"testing"
	"time"
	_ "time/tzdata" // the zones of every machine alike

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

func window(zone, days, hours string) v1alpha1.Schedule {
	return v1alpha1.Schedule{Timezone: zone, DaysOfWeek: []string{days}, HoursOfDay: []string{hours}}
}

func crontab(zone, line string) v1alpha1.Schedule {
	return v1alpha1.Schedule{Timezone: zone, Cron: line}
}

func parsed(t testing.TB, spec v1alpha1.Schedule) Schedule {
	t.Helper()
	s, err := Parse(spec)
	require.NoError(t, err)
	return s
}

func instant(t testing.TB, rfc3339 string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, rfc3339)
	require.NoError(t, err)
	return at
}

// unixWithin folds any number into the seconds of 1970 to 2100.
func unixWithin(n int64) time.Time {
	const span = 130 * 365 * 24 * 3600
	return time.Unix((n%span+span)%span, 0)
}

// requireEdges checks that what follows t is an edge: the state differs just before it, and it is not t itself.
func requireEdges(t *testing.T, s Schedule, at time.Time) {
	t.Helper()
	for want, next := range map[bool]func(time.Time) (time.Time, bool){true: s.NextStart, false: s.NextEnd} {
		edge, ok := next(at)
		if !ok {
			continue
		}
		require.True(t, edge.After(at), "%s is not after %s", edge, at)
		require.Equal(t, want, s.Active(edge), "at %s", edge)
		require.NotEqual(t, want, s.Active(edge.Add(-1)), "just before %s", edge)
	}
}

// 2026-06-01 is a Monday.
func TestActive(t *testing.T) {
	for name, tt := range map[string]struct {
		spec    v1alpha1.Schedule
		yes, no []string
	}{
		"business hours include their last hour": {
			spec: window("UTC", "mon-fri", "9-17"),
			yes:  []string{"2026-06-01T09:00:00Z", "2026-06-05T17:59:59.999999999Z"},
			no:   []string{"2026-06-01T08:59:59.999999999Z", "2026-06-01T18:00:00Z", "2026-06-06T12:00:00Z"},
		},
		"one hour of one day": {
			spec: window("UTC", "wed", "0"),
			yes:  []string{"2026-06-03T00:00:00Z", "2026-06-03T00:59:59Z"},
			no:   []string{"2026-06-02T23:59:59Z", "2026-06-03T01:00:00Z", "2026-06-04T00:30:00Z"},
		},
		"days wrap around the week": {
			spec: window("UTC", "fri-mon", "0-23"),
			yes:  []string{"2026-06-05T00:00:00Z", "2026-06-07T12:00:00Z", "2026-06-08T23:59:59Z"},
			no:   []string{"2026-06-02T00:00:00Z", "2026-06-04T23:59:59Z", "2026-06-09T00:00:00Z"},
		},
		"hours wrap within the calendar day, not into the next": {
			spec: window("UTC", "fri", "22-6"),
			yes:  []string{"2026-06-05T00:00:00Z", "2026-06-05T06:59:59Z", "2026-06-05T22:00:00Z", "2026-06-05T23:59:59Z"},
			no:   []string{"2026-06-04T23:59:59Z", "2026-06-05T07:00:00Z", "2026-06-06T00:00:00Z", "2026-06-06T06:00:00Z"},
		},
		"comma lists in days and hours": {
			spec: window("UTC", "mon,wed-thu", "8-10,16-18,21"),
			yes:  []string{"2026-06-01T08:00:00Z", "2026-06-03T10:59:00Z", "2026-06-04T18:00:00Z", "2026-06-01T21:30:00Z"},
			no:   []string{"2026-06-01T11:00:00Z", "2026-06-02T08:00:00Z", "2026-06-01T19:00:00Z", "2026-06-01T20:59:59Z"},
		},
		"New York, where the UTC date is another": {
			spec: window("America/New_York", "mon", "20-23"),
			yes:  []string{"2026-06-02T00:00:00Z", "2026-06-02T03:59:59Z"},
			no:   []string{"2026-06-01T20:00:00Z", "2026-06-02T04:00:00Z"},
		},
		"Kolkata, half an hour off": {
			spec: window("Asia/Kolkata", "mon", "9-17"),
			yes:  []string{"2026-06-01T03:30:00Z", "2026-06-01T12:29:59Z"},
			no:   []string{"2026-06-01T03:29:59Z", "2026-06-01T12:30:00Z"},
		},
		"Chatham, three quarters of an hour off": {
			spec: window("Pacific/Chatham", "mon", "0"),
			yes:  []string{"2026-05-31T11:15:00Z", "2026-05-31T12:14:59Z"},
			no:   []string{"2026-05-31T11:14:59Z", "2026-05-31T12:15:00Z"},
		},
		"Kiritimati, a day ahead": {
			spec: window("Pacific/Kiritimati", "mon", "0-23"),
			yes:  []string{"2026-05-31T10:00:00Z", "2026-06-01T09:59:59Z"},
			no:   []string{"2026-05-31T09:59:59Z", "2026-06-01T10:00:00Z"},
		},
		"Berlin in summer and in winter": {
			spec: window("Europe/Berlin", "mon-sun", "9"),
			yes:  []string{"2026-06-01T07:30:00Z", "2026-12-01T08:30:00Z"},
			no:   []string{"2026-06-01T08:30:00Z", "2026-12-01T07:30:00Z"},
		},
		"cron covers its minutes to the last second": {
			spec: crontab("UTC", "30-31 9 * * 1-5"),
			yes:  []string{"2026-06-01T09:30:00Z", "2026-06-01T09:31:59.999999999Z"},
			no:   []string{"2026-06-01T09:29:59Z", "2026-06-01T09:32:00Z", "2026-06-06T09:30:00Z"},
		},
		"cron of the weekend": {
			spec: crontab("UTC", "* * * * 0,6"),
			yes:  []string{"2026-06-06T00:00:00Z", "2026-06-07T23:59:59Z"},
			no:   []string{"2026-06-05T23:59:59Z", "2026-06-08T00:00:00Z"},
		},
		"cron with both kinds of day takes either": {
			spec: crontab("UTC", "* * 13 * 5"),
			yes:  []string{"2026-06-13T12:00:00Z", "2026-06-05T12:00:00Z"},
			no:   []string{"2026-06-14T12:00:00Z"},
		},
		"cron with a star in one kind of day takes the other": {
			spec: crontab("UTC", "* * 13 6 *"),
			yes:  []string{"2026-06-13T12:00:00Z"},
			no:   []string{"2026-06-12T12:00:00Z", "2026-07-13T12:00:00Z"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := parsed(t, tt.spec)
			for _, at := range tt.yes {
				require.True(t, s.Active(instant(t, at)), at)
			}
			for _, at := range tt.no {
				require.False(t, s.Active(instant(t, at)), at)
			}
		})
	}
}

func TestEnabledIsNotOurs(t *testing.T) {
	off := false
	spec := window("UTC", "mon-sun", "0-23")
	spec.Enabled = &off
	require.True(t, parsed(t, spec).Active(instant(t, "2026-06-01T00:00:00Z")))
}

func TestNextEdges(t *testing.T) {
	business := window("UTC", "mon-fri", "9-17")
	for name, tt := range map[string]struct {
		spec             v1alpha1.Schedule
		from, start, end string
	}{
		"before the window":              {business, "2026-06-01T08:59:59Z", "2026-06-01T09:00:00Z", "2026-06-01T18:00:00Z"},
		"an edge is not its own next":    {business, "2026-06-01T09:00:00Z", "2026-06-02T09:00:00Z", "2026-06-01T18:00:00Z"},
		"within the window":              {business, "2026-06-01T12:34:56.7Z", "2026-06-02T09:00:00Z", "2026-06-01T18:00:00Z"},
		"at the end of the window":       {business, "2026-06-01T18:00:00Z", "2026-06-02T09:00:00Z", "2026-06-02T18:00:00Z"},
		"over the weekend":               {business, "2026-06-05T18:00:00Z", "2026-06-08T09:00:00Z", "2026-06-08T18:00:00Z"},
		"across midnight without a seam": {window("UTC", "mon-sun", "22-6"), "2026-06-01T23:00:00Z", "2026-06-02T22:00:00Z", "2026-06-02T07:00:00Z"},
		"Friday's wrap is two windows":   {window("UTC", "fri", "22-6"), "2026-06-05T03:00:00Z", "2026-06-05T22:00:00Z", "2026-06-05T07:00:00Z"},
		"adjacent ranges without a seam": {window("UTC", "mon", "8-9,10-11"), "2026-06-01T08:00:00Z", "2026-06-08T08:00:00Z", "2026-06-01T12:00:00Z"},
		"half-hour zone":                 {window("Asia/Kolkata", "mon-sun", "9-17"), "2026-06-01T00:00:00Z", "2026-06-01T03:30:00Z", "2026-06-01T12:30:00Z"},
		"one minute an hour":             {crontab("UTC", "0 9-17 * * 1-5"), "2026-06-01T09:00:30Z", "2026-06-01T10:00:00Z", "2026-06-01T09:01:00Z"},
		"a leap day":                     {crontab("UTC", "* * 29 2 *"), "2026-06-01T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"},
		"a leap day over 2100":           {crontab("UTC", "* * 29 2 *"), "2097-01-01T00:00:00Z", "2104-02-29T00:00:00Z", "2104-03-01T00:00:00Z"},
		"never":                          {crontab("UTC", "* * 30 2 *"), "2026-06-01T00:00:00Z", "", ""},
		"always":                         {window("Europe/Berlin", "mon-sun", "0-23"), "2026-06-01T00:00:00Z", "", ""},

		"Berlin skips the hour 2, which is not covered that day":   {window("Europe/Berlin", "sun", "2"), "2026-03-28T00:00:00Z", "2026-04-05T00:00:00Z", "2026-04-05T01:00:00Z"},
		"Berlin skips the hour 2, and 1-3 lasts two hours":         {window("Europe/Berlin", "sun", "1-3"), "2026-03-28T12:00:00Z", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z"},
		"Berlin skips the hour 2, and hour 3 starts where 1 ends":  {window("Europe/Berlin", "sun", "3"), "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		"Berlin repeats the hour 2, in one piece":                  {window("Europe/Berlin", "sun", "2"), "2026-10-24T12:00:00Z", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"},
		"New York repeats the hour 1 of a cron, minute by minute":  {crontab("America/New_York", "30 1 * * *"), "2026-11-01T05:31:00Z", "2026-11-01T06:30:00Z", "2026-11-01T06:31:00Z"},
		"New York skips 02:30":                                     {crontab("America/New_York", "30 2 * * *"), "2026-03-07T12:00:00Z", "2026-03-09T06:30:00Z", "2026-03-09T06:31:00Z"},
		"Lord Howe repeats half an hour":                           {window("Australia/Lord_Howe", "sun", "1"), "2026-04-04T00:00:00Z", "2026-04-04T14:00:00Z", "2026-04-04T15:30:00Z"},
		"Lord Howe skips half of the hour 2":                       {window("Australia/Lord_Howe", "sun", "2"), "2026-10-03T00:00:00Z", "2026-10-03T15:30:00Z", "2026-10-03T16:00:00Z"},
		"Sao Paulo has no midnight, and the day starts at 01:00":   {window("America/Sao_Paulo", "sun", "0-23"), "2018-11-03T12:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		"Apia has no 30 December 2011":                             {crontab("Pacific/Apia", "* * 30 12 *"), "2011-12-29T00:00:00Z", "2012-12-29T10:00:00Z", "2012-12-30T10:00:00Z"},
		"a clock moved while the window is open does not split it": {window("Europe/Berlin", "sat-sun", "0-23"), "2026-10-24T12:00:00Z", "2026-10-30T23:00:00Z", "2026-10-25T23:00:00Z"},
		"Troll skips both hours":                                   {window("Antarctica/Troll", "sun", "1-2"), "2026-03-29T00:00:00Z", "2026-04-04T23:00:00Z", "2026-04-05T01:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			s, from := parsed(t, tt.spec), instant(t, tt.from)
			start, okStart := s.NextStart(from)
			end, okEnd := s.NextEnd(from)
			require.Equal(t, tt.start, format(start, okStart), "next start")
			require.Equal(t, tt.end, format(end, okEnd), "next end")
		})
	}
}

func format(at time.Time, ok bool) string {
	if !ok {
		return ""
	}
	return at.Format(time.RFC3339Nano)
}

func TestAnswersDoNotDependOnTheZoneOfTheQuestion(t *testing.T) {
	s := parsed(t, window("Europe/Berlin", "mon-fri", "9-17"))
	at := instant(t, "2026-06-01T12:00:00Z")
	start, _ := s.NextStart(at)
	elsewhere, _ := s.NextStart(at.In(time.FixedZone("", -9*3600)))
	require.Equal(t, start, elsewhere)
	require.Equal(t, time.UTC, start.Location())
}

func BenchmarkNextStart(b *testing.B) {
	from := instant(b, "2026-06-05T18:00:00Z")
	for name, spec := range map[string]v1alpha1.Schedule{
		"business hours": window("Europe/Berlin", "mon-fri", "9-17"),
		"leap day":       crontab("Europe/Berlin", "30 2 29 2 *"),
		"always":         window("Europe/Berlin", "mon-sun", "0-23"),
		"never":          crontab("Europe/Berlin", "* * 30 2 *"),
	} {
		s := parsed(b, spec)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.NextStart(from)
			}
		})
	}
}
