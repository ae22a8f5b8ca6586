package report

import (
	"fmt"
	"strings"
	"time"
)

// Percentiles are the curves of one plot.
type Percentiles []Curve

// Curve is one of them.
type Curve struct {
	Name string
	All  []time.Duration
}

// Markdown is a plot that GitHub and most readers of Markdown draw, and that others can read as numbers. The last percent is in the table: it
// would flatten the rest.
func (p Percentiles) Markdown() string {
	var names []string
	for _, c := range p {
		names = append(names, c.Name)
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
			fmt.Fprintf(&b, "%.2f, ", inMS(Quantile(c.All, float64(i)/100)))
		}
		fmt.Fprintf(&b, "%.2f]\n", inMS(Quantile(c.All, 0.99)))
	}
	b.WriteString("```\n")
	return b.String()
}
