package report

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuantileIsTheNearestRank(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	for _, tt := range []struct {
		all  []time.Duration
		q    float64
		want time.Duration
	}{
		{hundred, 0, 1},
		{hundred, 0.07, 7},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
		{[]time.Duration{2, 1}, 0.5, 1},
		{[]time.Duration{3, 1, 2}, 0.5, 2},
		{[]time.Duration{3, 1, 2}, 0.99, 3},
		{[]time.Duration{5}, 0, 5},
		{[]time.Duration{5}, 1, 5},
	} {
		require.Equal(t, tt.want, Quantile(tt.all, tt.q), "%v of %d", tt.q, len(tt.all))
	}
	require.Equal(t, time.Duration(100), hundred[0], "the durations keep their order")
}

func TestJudge(t *testing.T) {
	met := Row{What: "a", Cells: []string{"1 ms"}, Budget: "≤ 2 ms"}
	missed := Row{What: "b", Cells: []string{"3 ms", "4 ms"}, Budget: "≤ 2 ms", Missed: true}
	peer := Row{What: "a", Cells: []string{"9 ms"}}
	for name, tt := range map[string]struct {
		rows    []Row
		excuses map[string]string
		scale   float64
		says    string
	}{
		"met":                                    {rows: []Row{met}},
		"missed":                                 {rows: []Row{met, missed}, says: "Section: b: 3 ms, 4 ms, budget ≤ 2 ms"},
		"missed and excused":                     {rows: []Row{missed}, excuses: map[string]string{"b": "because"}},
		"another is excused":                     {rows: []Row{met, missed}, excuses: map[string]string{"a": "because"}, says: "Section: b: "},
		"excused without a reason":               {rows: []Row{missed}, excuses: map[string]string{"b": ""}, says: "Section: b: "},
		"two budgets of one name":                {rows: []Row{met, met}, says: `another row with a budget is called "a"`},
		"a peer of the same name":                {rows: []Row{met, peer}},
		"an excuse for nothing":                  {rows: []Row{met}, excuses: map[string]string{"c": "because"}, says: `no row with a budget is called "c"`},
		"an excuse for nothing, in a rehearsal":  {rows: []Row{met}, excuses: map[string]string{"c": "because"}, scale: 0.1},
		"an excuse for a peer, which needs none": {rows: []Row{peer}, excuses: map[string]string{"a": "because"}, says: `no row with a budget is called "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.scale == 0 {
				tt.scale = 1
			}
			var sections []Section
			for _, row := range tt.rows { // in sections of their own: names are looked up across them
				sections = append(sections, Section{Title: "Section", Rows: []Row{row}})
			}
			err := judge(sections, tt.excuses, tt.scale)
			if tt.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.says)
		})
	}
}

func TestTheReportIsWrittenAlsoWhenABudgetIsMissed(t *testing.T) {
	out, accepted := filepath.Join(t.TempDir(), "docs", "page.md"), filepath.Join(t.TempDir(), "accepted.tsv")
	require.NoError(t, os.WriteFile(accepted, []byte("what\treason\nslow\tthe disk\n"), 0o600))
	section := Section{Title: "Section", How: "By hand.", Columns: []string{"p50"}, Rows: []Row{
		{What: "slow", Cells: []string{"3 ms"}, Budget: "≤ 2 ms", Missed: true},
		{What: "slower", Cells: []string{"4 ms"}, Budget: "≤ 2 ms", Missed: true},
	}}
	r := Report{Title: "Page", Target: "bench", Measurements: []Measurement{func(context.Context, float64) (Section, error) { return section, nil }}}
	err := r.Write(t.Context(), out, accepted, 1)
	require.EqualError(t, err, "Section: slower: 4 ms, budget ≤ 2 ms")
	page, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(page), "## Section\nBy hand.\n\n| | p50 | budget |\n|---|---|---|\n| slow | 3 ms | ≤ 2 ms **missed** |\n")
}

func TestAMeasurementThatFailsFailsTheReport(t *testing.T) {
	accepted := filepath.Join(t.TempDir(), "accepted.tsv")
	require.NoError(t, os.WriteFile(accepted, []byte("what\treason\n"), 0o600))
	fault := errors.New("no such machine")
	r := Report{Measurements: []Measurement{func(context.Context, float64) (Section, error) { return Section{Title: "Section"}, fault }}}
	require.ErrorIs(t, r.Write(t.Context(), filepath.Join(t.TempDir(), "page.md"), accepted, 1), fault)
}
