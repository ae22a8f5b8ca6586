package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"5spot.finos.org/node-reclaim/test/table"
)

// measurement makes one section of the report. scale is 1 for a whole one.
type measurement func(ctx context.Context, scale float64) (section, error)

// section is one table.
type section struct {
	title, how string
	columns    []string
	rows       []row
	// plot stands below the table.
	plot string
}

// row is one line. budget says what the value must not exceed; a peer has none.
type row struct {
	what   string
	cells  []string
	budget string
	missed bool
}

type report struct {
	machine  string
	sections []section
}

func (r report) markdown() string {
	var b strings.Builder
	b.WriteString("<!-- Written by `make bench-agent`. -->\n# What the agent costs, and how quick it is\n\n" + r.machine + "\n")
	for _, s := range r.sections {
		b.WriteString("\n" + s.markdown())
	}
	return b.String()
}

func (s section) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n%s\n\n| | %s | budget |\n|---|%s---|\n", s.title, s.how, strings.Join(s.columns, " | "),
		strings.Repeat("---|", len(s.columns)))
	for _, r := range s.rows {
		budget := r.budget
		if r.missed {
			budget += " **missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.what, strings.Join(r.cells, " | "), budget)
	}
	b.WriteString(s.plot)
	return b.String()
}

// missed names the budgets that were missed without an excuse.
func (r report) missed(excuses map[string]string) error {
	var all []error
	for _, s := range r.sections {
		for _, row := range s.rows {
			if row.missed && excuses[row.what] == "" {
				all = append(all, fmt.Errorf("%s: %s: %s, budget %s", s.title, row.what, strings.Join(row.cells, ", "), row.budget))
			}
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

// quantile of durations, q from 0 to 1.
func quantile(d []time.Duration, q float64) time.Duration {
	slices.Sort(d)
	return d[min(len(d)-1, int(q*float64(len(d))))]
}

// latencyRow is the row of a table with the columns p50, p99, max and n.
func latencyRow(what string, all []time.Duration) row {
	return row{what: what, cells: []string{
		ms(quantile(all, 0.5)), ms(quantile(all, 0.99)), ms(quantile(all, 1)), fmt.Sprint(len(all)),
	}}
}

func inMS(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", inMS(d)) }

func us(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d)/float64(time.Microsecond)) }

func scaled(n int, scale float64) int { return max(1, int(float64(n)*scale)) }
