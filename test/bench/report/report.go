// Package report makes the tables of the benchmarks: figures beside budgets and peers, the machine they were taken on, and an error where a budget
// is missed without an excuse. It must not know what is measured.
package report

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"5spot.finos.org/node-reclaim/test/table"
)

// Measurement makes one section of a report. scale is 1 for a whole one.
type Measurement func(ctx context.Context, scale float64) (Section, error)

// Section is one table.
type Section struct {
	Title, How string
	Columns    []string
	Rows       []Row
	// Plot stands below the table.
	Plot string
}

// Row is one line. Budget says what the value must not exceed; a peer has none.
type Row struct {
	What   string
	Cells  []string
	Budget string
	Missed bool
}

// Report is a page of measurements, in their order.
type Report struct {
	// Title is the page's; Target is the target of make that writes it.
	Title, Target string
	Measurements  []Measurement
}

// Write measures, writes the page to out, and fails for every budget that is missed and not excused in the table accepted.
func (r Report) Write(ctx context.Context, out, accepted string, scale float64) error {
	excuses, err := readExcuses(accepted)
	if err != nil {
		return err
	}
	page := "<!-- Written by `make " + r.Target + "`. -->\n# " + r.Title + "\n\n" + describeMachine() + "\n"
	var sections []Section
	for _, measure := range r.Measurements {
		began := time.Now()
		section, err := measure(ctx, scale)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", section.Title, err)
		}
		fmt.Printf("%s(%s took %s)\n\n", section.markdown(), section.Title, time.Since(began).Round(time.Second))
		page += "\n" + section.markdown()
		sections = append(sections, section)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := os.WriteFile(out, []byte(page), 0o600); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return judge(sections, excuses, scale)
}

func (s Section) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n%s\n\n| | %s | budget |\n|---|%s---|\n", s.Title, s.How, strings.Join(s.Columns, " | "),
		strings.Repeat("---|", len(s.Columns)))
	for _, r := range s.Rows {
		budget := r.Budget
		if r.Missed {
			budget += " **missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.What, strings.Join(r.Cells, " | "), budget)
	}
	b.WriteString(s.Plot)
	return b.String()
}

// judge names the budgets that were missed without an excuse, and what makes an excuse mean nothing: rows that share a name, and a name that no
// row has. In a rehearsal names may hold other numbers.
func judge(sections []Section, excuses map[string]string, scale float64) error {
	var errs []error
	seen := map[string]bool{}
	for _, s := range sections {
		for _, row := range s.Rows {
			if row.Budget == "" {
				continue
			}
			if seen[row.What] {
				errs = append(errs, fmt.Errorf("%s: another row with a budget is called %q, too", s.Title, row.What))
			}
			seen[row.What] = true
			if row.Missed && excuses[row.What] == "" {
				errs = append(errs, fmt.Errorf("%s: %s: %s, budget %s", s.Title, row.What, strings.Join(row.Cells, ", "), row.Budget))
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(excuses)) {
		if scale == 1 && !seen[what] {
			errs = append(errs, fmt.Errorf("no row with a budget is called %q, which is excused", what))
		}
	}
	return errors.Join(errs...)
}

// readExcuses reads the rows that may miss their budget.
func readExcuses(path string) (map[string]string, error) {
	rows, err := table.Read(path)
	if err != nil {
		return nil, err
	}
	excuses := map[string]string{}
	for _, r := range rows {
		excuses[r["what"]] = r["reason"]
	}
	return excuses, nil
}

func describeMachine() string {
	var name unix.Utsname
	_ = unix.Uname(&name)
	cpu := "unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if value, ok := strings.CutPrefix(line, "model name\t: "); ok {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	return fmt.Sprintf("Measured on %d × %s, Linux %s, %s, GOMAXPROCS %d; load average before: %s.", runtime.NumCPU(), cpu,
		unix.ByteSliceToString(name.Release[:]), runtime.Version(), runtime.GOMAXPROCS(0), strings.Join(strings.Fields(string(load))[:3], ", "))
}

// Quantile of durations, q from 0 to 1, by nearest rank: the smallest of them that is not exceeded by a share q of all. Of a hundred, the
// last is p100 and not p99.
func Quantile(d []time.Duration, q float64) time.Duration {
	const rounding = 1e-9 // 0.07 of 100 is a little more than 7 in floating point
	rank := int(math.Ceil(q*float64(len(d)) - rounding))
	return slices.Sorted(slices.Values(d))[max(rank, 1)-1]
}

// LatencyRow is the row of a table with the columns p50, p99, max and n.
func LatencyRow(what string, all []time.Duration) Row {
	return Row{What: what, Cells: []string{
		MS(Quantile(all, 0.5)), MS(Quantile(all, 0.99)), MS(Quantile(all, 1)), fmt.Sprint(len(all)),
	}}
}

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// MS writes a duration in milliseconds.
func MS(d time.Duration) string { return fmt.Sprintf("%.2f ms", inMS(d)) }

// US writes a duration in microseconds.
func US(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d)/float64(time.Microsecond)) }

// Scaled is n for a rehearsal, at least 1.
func Scaled(n int, scale float64) int { return max(1, int(float64(n)*scale)) }
