package match

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/test/table"
)

// TestCasesOfTheTable holds the matcher to the table that the shell tool is held to as well.
func TestCasesOfTheTable(t *testing.T) {
	for _, row := range conformanceRows(t) {
		t.Run(row.title(), func(t *testing.T) {
			verdict := New(row.config(t)).Judge(row.process(t))
			require.Equal(t, row.Row["verdict"] == "match", verdict.Fires(), "%+v", verdict)
			require.Equal(t, row.text(t, "rule"), said(verdict))
		})
	}
}

// TestCasesOfTheTableAtFirstLook: what is read of every process never says no to one that matches.
func TestCasesOfTheTableAtFirstLook(t *testing.T) {
	for _, row := range conformanceRows(t) {
		if row.Row["verdict"] != "match" {
			continue
		}
		t.Run(row.title(), func(t *testing.T) {
			m := New(row.config(t))
			comm, args := []byte(row.text(t, "comm")), JoinArgv([]byte(row.text(t, "argv")))
			require.True(t, m.MayMatchComm(comm) || m.ReadsArgs() && m.MayMatchArgs(args))
		})
	}
}

// said writes a verdict as the table does.
func said(v Verdict) string {
	switch {
	case !v.Fits:
		return "none"
	case v.Fires() && v.Rule.List == ListCommands:
		return "command:" + v.Rule.Entry
	case v.Fires():
		return "argv:" + v.Rule.Entry
	}
	return map[Ignored]string{
		IgnoredZombie: "zombie", IgnoredKernelThread: "kernel-thread", IgnoredPod: "pod", IgnoredMachinery: "machinery",
	}[v.Ignored]
}

// conformanceRow is a row of the table, whose cells can be taken as what they stand for.
type conformanceRow struct{ table.Row }

func conformanceRows(t *testing.T) []conformanceRow {
	t.Helper()
	rows, err := table.Read("../../testdata/conformance/table.tsv")
	require.NoError(t, err)
	var all []conformanceRow
	for _, row := range rows {
		all = append(all, conformanceRow{row})
	}
	return all
}

// title names the cases that the row belongs to.
func (r conformanceRow) title() string {
	if r.Row["case"] == "-" {
		return r.Row["name"]
	}
	return "Case " + r.Row["case"] + " " + r.Row["name"]
}

func (r conformanceRow) text(t *testing.T, column string) string {
	t.Helper()
	text, err := table.Bytes(r.Row[column])
	require.NoError(t, err)
	return text
}

func (r conformanceRow) process(t *testing.T) Process {
	t.Helper()
	p := Process{
		Comm:         r.text(t, "comm"),
		Argv:         SplitArgv([]byte(r.text(t, "argv"))),
		Exe:          r.text(t, "exe"),
		Cgroup:       strings.Split(r.text(t, "cgroup"), "\n"),
		Vantage:      NewVantage(strings.Split(r.text(t, "pid1_cgroup"), "\n")),
		State:        'S',
		KernelThread: r.Row["kind"] == "kernel-thread",
	}
	if r.Row["kind"] == "zombie" {
		p.State = 'Z'
	}
	return p
}

func (r conformanceRow) config(t *testing.T) reclaim.Config {
	t.Helper()
	c, err := reclaim.Parse(r.Row["name"], []byte("match_commands = "+r.Row["commands"]+"\nmatch_argv_substrings = "+r.Row["substrings"]+"\n"))
	require.NoError(t, err)
	return c
}
