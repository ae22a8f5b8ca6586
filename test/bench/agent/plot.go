package main

import (
	"fmt"
	"strings"
	"time"
)

// percentiles are the curves of one plot.
type percentiles []curve

type curve struct {
	name string
	all  []time.Duration
}

// markdown is a plot that GitHub and most readers of Markdown draw, and that others can read as numbers. The last percent is in the table: it
// would flatten the rest.
func (p percentiles) markdown() string {
	var names []string
	for _, c := range p {
		names = append(names, c.name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nMilliseconds by percentile; from above: %s.\n\n```mermaid\nxychart-beta\n  x-axis \"percentile\" [", strings.Join(names, ", "))
	for i := 5; i <= 95; i += 5 {
		fmt.Fprintf(&b, "%d, ", i)
	}
	b.WriteString("99]\n  y-axis \"ms\"\n")
	for _, c := range p {
		fmt.Fprintf(&b, "  line [")
		for i := 5; i <= 95; i += 5 {
			fmt.Fprintf(&b, "%.2f, ", inMS(quantile(c.all, float64(i)/100)))
		}
		fmt.Fprintf(&b, "%.2f]\n", inMS(quantile(c.all, 0.99)))
	}
	b.WriteString("```\n")
	return b.String()
}
