// Package report makes the tables of the benchmarks: figures beside budgets and peers, the machine they were taken on, and an error where a budget
// is missed without an excuse. It must not know what is measured.
package report

import (
	"context"
	"errors"
	"fmt"
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
	var missed []error
	for _, measure := range r.Measurements {
		section, err := measure(ctx, scale)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", section.Title, err)
		}
		fmt.Println(section.markdown())
		page += "\n" + section.markdown()
		missed = append(missed, section.missed(excuses))
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := os.WriteFile(out, []byte(page), 0o600); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return errors.Join(missed...)
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

// missed names the budgets that were missed without an excuse.
func (s Section) missed(excuses map[string]string) error {
	var all []error
	for _, row := range s.Rows {
		if row.Missed && excuses[row.What] == "" {
			all = append(all, fmt.Errorf("%s: %s: %s, budget %s", s.Title, row.What, strings.Join(row.Cells, ", "), row.Budget))
		}
	}
	return errors.Join(all...)
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

// Quantile of durations, q from 0 to 1.
func Quantile(d []time.Duration, q float64) time.Duration {
	slices.Sort(d)
	return d[min(len(d)-1, int(q*float64(len(d))))]
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
