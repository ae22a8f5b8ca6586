package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// Parse reads spec.schedule. The API server refuses most of what is refused here, but it knows no time zones and no cron. An
// error is one sentence with the field's path, what is wrong with it, and a right value.
func Parse(spec v1alpha1.Schedule) (Schedule, error) {
	zone, err := parseZone(spec.Timezone)
	if err != nil {
		return Schedule{}, err
	}
	set, err := parseCalendar(spec)
	if err != nil {
		return Schedule{}, err
	}
	return Schedule{calendar: set, zone: zone}, nil
}

// parseZone takes IANA names only. Some names are the host's own: they would make a schedule mean something else in the next
// pod, and the tables below right/ count leap seconds.
func parseZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	foreign := name == "Local" || name == "localtime" || name == "posixrules" ||
		strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/")
	if err != nil || foreign {
		return nil, fmt.Errorf("spec.schedule.timezone: %q is not an IANA time zone; give its name, for example Europe/Berlin or UTC", name)
	}
	return zone, nil
}

func parseCalendar(spec v1alpha1.Schedule) (calendar, error) {
	hours := len(spec.DaysOfWeek) > 0 || len(spec.HoursOfDay) > 0
	switch {
	case spec.Cron != "" && hours:
		return calendar{}, errors.New("spec.schedule: cron excludes daysOfWeek and hoursOfDay; " +
			"keep one form, for example cron: '* 9-17 * * 1-5'")
	case spec.Cron != "":
		return parseCron(spec.Cron)
	case len(spec.DaysOfWeek) == 0 || len(spec.HoursOfDay) == 0:
		return calendar{}, errors.New("spec.schedule: give daysOfWeek and hoursOfDay, " +
			"for example daysOfWeek: [mon-fri], hoursOfDay: ['9-17'], or cron")
	}
	return parseDaysAndHours(spec)
}

func parseDaysAndHours(spec v1alpha1.Schedule) (calendar, error) {
	days := list{field: "spec.schedule.daysOfWeek", size: 7, number: weekday,
		want: "a day or a range of days; days are mon, tue, wed, thu, fri, sat and sun, ranges for example mon-fri"}
	hours := list{field: "spec.schedule.hoursOfDay", size: 24, number: hour,
		want: "an hour or a range of hours; hours are 0 to 23, ranges for example 9-17 or 22-6"}
	set := calendar{minutes: allMinutes, dates: allDates, months: allMonths}
	var err error
	if set.weekdays, err = days.parse(spec.DaysOfWeek); err != nil {
		return calendar{}, err
	}
	set.hours, err = hours.parse(spec.HoursOfDay)
	return set, err
}

// list is the grammar that daysOfWeek and hoursOfDay share: entries of numbers and ranges, separated by commas.
type list struct {
	field  string
	size   int
	number func(string) (int, bool)
	// want ends the sentence that an error begins.
	want string
}

func (l list) parse(entries []string) (uint64, error) {
	var set uint64
	for i, entry := range entries {
		for part := range strings.SplitSeq(entry, ",") {
			bits, ok := l.parseRange(part)
			if !ok {
				return 0, fmt.Errorf("%s[%d]: %q is not %s", l.field, i, strings.TrimSpace(part), l.want)
			}
			set |= bits
		}
	}
	return set, nil
}

// parseRange reads "9", "9-17" or, past the end and on from the beginning, "22-6".
func (l list) parseRange(part string) (uint64, bool) {
	from, to, isRange := strings.Cut(part, "-")
	if !isRange {
		to = from
	}
	first, okFirst := l.number(strings.TrimSpace(from))
	last, okLast := l.number(strings.TrimSpace(to))
	if !okFirst || !okLast {
		return 0, false
	}
	bits := uint64(1) << last
	for n := first; n != last; n = (n + 1) % l.size {
		bits |= 1 << n
	}
	return bits, true
}

func weekday(name string) (int, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if strings.EqualFold(name, day.String()[:3]) {
			return int(day), true
		}
	}
	return 0, false
}

func hour(digits string) (int, bool) {
	n, err := strconv.ParseUint(digits, 10, 8)
	return int(n), err == nil && len(digits) <= 2 && n < 24
}
