package schedule

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

func TestParseAcceptsWhatTheFieldHas(t *testing.T) {
	for name, spec := range map[string]v1alpha1.Schedule{
		"no zone is UTC":            {DaysOfWeek: []string{"mon-fri"}, HoursOfDay: []string{"9-17"}},
		"lists within an entry":     {DaysOfWeek: []string{"mon-wed,fri-sun"}, HoursOfDay: []string{"0-8,18-23"}, Timezone: "UTC"},
		"entries of a list":         {DaysOfWeek: []string{"mon", "wed", "fri"}, HoursOfDay: []string{"9", "09-17"}},
		"spaces and capitals":       {DaysOfWeek: []string{" Mon - FRI , sun "}, HoursOfDay: []string{" 9 - 17 , 22 "}},
		"wraps":                     {DaysOfWeek: []string{"fri-mon"}, HoursOfDay: []string{"22-6"}},
		"cron":                      {Cron: "* * * * 0,6", Timezone: "America/New_York"},
		"cron with names and steps": {Cron: "*/15 8-18/2 1-7 jan-mar,dec MON-FRI"},
		"cron with outer spaces":    {Cron: "  0 0 * * ?  "},
		"cron that never matches":   {Cron: "0 0 30 2 *"},
	} {
		_, err := Parse(spec)
		require.NoError(t, err, name)
	}
}

func TestParseRefusesInOneSentenceWithFieldAndExample(t *testing.T) {
	days, hours := []string{"mon-fri"}, []string{"9-17"}
	for name, tt := range map[string]struct {
		spec    v1alpha1.Schedule
		message string
	}{
		"nothing":              {v1alpha1.Schedule{}, "spec.schedule: give daysOfWeek and hoursOfDay, for example"},
		"days alone":           {v1alpha1.Schedule{DaysOfWeek: days}, "spec.schedule: give daysOfWeek and hoursOfDay, for example"},
		"hours alone":          {v1alpha1.Schedule{HoursOfDay: hours}, "spec.schedule: give daysOfWeek and hoursOfDay, for example"},
		"both forms":           {v1alpha1.Schedule{HoursOfDay: hours, Cron: "* * * * *"}, "spec.schedule: cron excludes daysOfWeek and hoursOfDay; keep one form, for example"},
		"unknown day":          {v1alpha1.Schedule{DaysOfWeek: []string{"mon", "tue,funday"}, HoursOfDay: hours}, `spec.schedule.daysOfWeek[1]: "funday" is not a day or a range of days; days are mon,`},
		"long day name":        {v1alpha1.Schedule{DaysOfWeek: []string{"monday"}, HoursOfDay: hours}, `spec.schedule.daysOfWeek[0]: "monday" is not a day`},
		"open range":           {v1alpha1.Schedule{DaysOfWeek: []string{"mon-"}, HoursOfDay: hours}, `spec.schedule.daysOfWeek[0]: "mon-" is not a day`},
		"empty entry":          {v1alpha1.Schedule{DaysOfWeek: []string{""}, HoursOfDay: hours}, `spec.schedule.daysOfWeek[0]: "" is not a day`},
		"hour 24":              {v1alpha1.Schedule{DaysOfWeek: days, HoursOfDay: []string{"9-24"}}, `spec.schedule.hoursOfDay[0]: "9-24" is not an hour or a range of hours; hours are 0 to 23, ranges for example 9-17 or 22-6`},
		"signed hour":          {v1alpha1.Schedule{DaysOfWeek: days, HoursOfDay: []string{"+9"}}, `spec.schedule.hoursOfDay[0]: "+9" is not an hour`},
		"range of three":       {v1alpha1.Schedule{DaysOfWeek: days, HoursOfDay: []string{"1-2-3"}}, `spec.schedule.hoursOfDay[0]: "1-2-3" is not an hour`},
		"minutes":              {v1alpha1.Schedule{DaysOfWeek: days, HoursOfDay: []string{"9:30"}}, `spec.schedule.hoursOfDay[0]: "9:30" is not an hour`},
		"trailing comma":       {v1alpha1.Schedule{DaysOfWeek: days, HoursOfDay: []string{"9,"}}, `spec.schedule.hoursOfDay[0]: "" is not an hour`},
		"seconds in cron":      {v1alpha1.Schedule{Cron: "0 * * * * *"}, `spec.schedule.cron: "0 * * * * *": expected exactly 5 fields, found 6`},
		"four fields":          {v1alpha1.Schedule{Cron: "* * * *"}, "expected exactly 5 fields, found 4"},
		"cron minute 60":       {v1alpha1.Schedule{Cron: "60 * * * *"}, `spec.schedule.cron: "60 * * * *": end of range (60) above maximum (59): 60; give minute, hour,`},
		"cron step 0":          {v1alpha1.Schedule{Cron: "*/0 * * * *"}, "step of range should be a positive number"},
		"cron backwards range": {v1alpha1.Schedule{Cron: "* 22-6 * * *"}, "beginning of range (22) beyond end of range (6)"},
		"cron empty list":      {v1alpha1.Schedule{Cron: ", * * * *"}, `"," is not a list of numbers and ranges`},
		"cron empty element":   {v1alpha1.Schedule{Cron: "* 9,,17 * * *"}, `"9,,17" is not a list of numbers and ranges`},
		"cron star in a range": {v1alpha1.Schedule{Cron: "* *-5 * * *"}, `"*-5" is not a list of numbers and ranges`},
		"descriptor":           {v1alpha1.Schedule{Cron: "@hourly"}, "descriptors and time zones do not belong here; the zone is spec.schedule.timezone"},
		"interval":             {v1alpha1.Schedule{Cron: " @every 1h"}, "descriptors and time zones do not belong here"},
		"zone in cron":         {v1alpha1.Schedule{Cron: "CRON_TZ=UTC * * * * *"}, "descriptors and time zones do not belong here"},
		"short zone in cron":   {v1alpha1.Schedule{Cron: "TZ=UTC"}, "descriptors and time zones do not belong here"},
		"unknown zone":         {v1alpha1.Schedule{DaysOfWeek: days, HoursOfDay: hours, Timezone: "Mars/Base"}, `spec.schedule.timezone: "Mars/Base" is not an IANA time zone; give its name, for example Europe/Berlin or UTC`},
		"the host's zone":      {v1alpha1.Schedule{Cron: "* * * * *", Timezone: "Local"}, `spec.schedule.timezone: "Local" is not an IANA`},
		"the host's zone file": {v1alpha1.Schedule{Cron: "* * * * *", Timezone: "localtime"}, `spec.schedule.timezone: "localtime" is not an IANA`},
		"leap second zone":     {v1alpha1.Schedule{Cron: "* * * * *", Timezone: "right/UTC"}, `spec.schedule.timezone: "right/UTC" is not an IANA`},
		"path for a zone":      {v1alpha1.Schedule{Cron: "* * * * *", Timezone: "../../etc/passwd"}, "is not an IANA"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tt.spec)
			require.ErrorContains(t, err, tt.message)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// FuzzParse: whatever is accepted has edges that are edges.
func FuzzParse(f *testing.F) {
	f.Add("mon-fri", "9-17", "", "Europe/Berlin", int64(1774746000))
	f.Add("fri-mon", "22-6,12", "", "Australia/Lord_Howe", int64(1775314800))
	f.Add("", "", "30 2 29 2 *", "America/Sao_Paulo", int64(4107542399))
	f.Add("", "", "*/7 1-5/2 1,31 feb-nov ?", "Pacific/Apia", int64(0))
	f.Fuzz(func(t *testing.T, days, hours, cron, zone string, unix int64) {
		spec := v1alpha1.Schedule{Cron: cron, Timezone: zone}
		if cron == "" {
			spec.DaysOfWeek, spec.HoursOfDay = []string{days}, []string{hours}
		}
		s, err := Parse(spec)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "spec.schedule"), "no field path: %v", err)
			return
		}
		requireEdges(t, s, unixWithin(unix))
	})
}
