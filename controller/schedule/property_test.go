package schedule

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// TestEdgesAgainstBruteForce compares every edge within two years, of random schedules in zones with every kind of clock change,
// with a list made minute by minute. The brute force never sees a schedule's text, only the sets that the text was drawn with.
func TestEdgesAgainstBruteForce(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca",
		"America/Santiago", "Pacific/Chatham", "Antarctica/Troll", "America/St_Johns"}
	rounds := 3 * len(zones)
	if testing.Short() {
		rounds = 4
	}
	for seed := range rounds {
		random := rand.New(rand.NewPCG(uint64(seed), 0))
		draw := []func(*rand.Rand) (v1alpha1.Schedule, covers){drawWindow, drawHourlyCron, drawCron}[seed%3]
		spec, covered := draw(random)
		spec.Timezone = zones[seed%len(zones)]
		t.Run(fmt.Sprintf("%d in %s", seed, spec.Timezone), func(t *testing.T) {
			t.Parallel()
			requireSameEdges(t, spec, covered)
		})
	}
}

func requireSameEdges(t *testing.T, spec v1alpha1.Schedule, covered covers) {
	t.Helper()
	s := parsed(t, spec)
	edges := bruteForce(s.zone, covered)
	require.NotEmpty(t, edges, "%+v", spec)
	for i := 0; i+2 < len(edges); i++ {
		after := edges[i+1].Sub(edges[i])
		for _, from := range []time.Time{edges[i], edges[i].Add(after/2 + 7), edges[i+1].Add(-1)} {
			wantStart, wantEnd := edges[i+1], edges[i+2]
			active := covered(from.In(s.zone))
			if active {
				wantStart, wantEnd = wantEnd, wantStart
			}
			start, _ := s.NextStart(from)
			end, _ := s.NextEnd(from)
			if s.Active(from) != active || !start.Equal(wantStart) || !end.Equal(wantEnd) {
				t.Fatalf("%+v from %s: active %t, start %s, end %s; want %t, %s, %s",
					spec, from, s.Active(from), start, end, active, wantStart, wantEnd)
			}
		}
	}
}

// bruteForce lists the instants at which coverage changes within two years.
func bruteForce(zone *time.Location, covered covers) []time.Time {
	at := time.Date(2025, 12, 31, 22, 0, 0, 0, time.UTC)
	end := at.AddDate(2, 0, 0)
	var edges []time.Time
	for state := covered(at.In(zone)); at.Before(end); at = at.Add(time.Minute) {
		if covered(at.In(zone)) != state {
			edges, state = append(edges, at), !state
		}
	}
	return edges
}

// covers is the definition of a schedule, on a local time.
type covers func(local time.Time) bool

func drawWindow(random *rand.Rand) (v1alpha1.Schedule, covers) {
	days, inDays := drawList(random, 0, 6, true, func(n int) string { return strings.ToLower(time.Weekday(n).String()[:3]) })
	hours, inHours := drawList(random, 0, 23, true, strconv.Itoa)
	return window("", days, hours), func(local time.Time) bool {
		return inDays[local.Weekday()] && inHours[local.Hour()]
	}
}

// drawHourlyCron draws a crontab line of whole hours, as windows are written.
func drawHourlyCron(random *rand.Rand) (v1alpha1.Schedule, covers) {
	hours, inHours := drawList(random, 0, 23, false, strconv.Itoa)
	weekdays, inWeekdays := drawList(random, 0, 6, false, strconv.Itoa)
	return crontab("", fmt.Sprintf("* %s * * %s", hours, weekdays)), func(local time.Time) bool {
		return inHours[local.Hour()] && inWeekdays[local.Weekday()]
	}
}

func drawCron(random *rand.Rand) (v1alpha1.Schedule, covers) {
	minutes, inMinutes := drawList(random, 0, 59, false, strconv.Itoa)
	hours, inHours := drawList(random, 0, 23, false, strconv.Itoa)
	dates, inDates := drawList(random, 1, 28, false, strconv.Itoa)
	months, inMonths := drawList(random, 1, 12, false, strconv.Itoa)
	weekdays, inWeekdays := drawList(random, 0, 6, false, strconv.Itoa)
	return crontab("", strings.Join([]string{minutes, hours, dates, months, weekdays}, " ")), func(local time.Time) bool {
		return inMinutes[local.Minute()] && inHours[local.Hour()] && inMonths[local.Month()] &&
			(inDates[local.Day()] || inWeekdays[local.Weekday()])
	}
}

// drawList draws one or two numbers or ranges between low and high, as text and as the set they stand for.
func drawList(random *rand.Rand, low, high int, wraps bool, name func(int) string) (string, [60]bool) {
	var elements []string
	var set [60]bool
	size := high - low + 1
	for range 1 + random.IntN(2) {
		first, length := low+random.IntN(size), 1+random.IntN(size/2)
		if !wraps {
			length = min(length, high-first+1)
		}
		for n := range length {
			set[low+(first-low+n)%size] = true
		}
		elements = append(elements, name(first)+"-"+name(low+(first-low+length-1)%size))
	}
	return strings.Join(elements, ","), set
}
