package match

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"github.com/stretchr/testify/require"
)

const conformanceTable = "../../testdata/conformance/table.tsv"

// TestConformance holds the matcher to the table that the shell tool is held to as well.
func TestConformance(t *testing.T) {
	for _, row := range conformanceRows(t) {
		t.Run(row["title"], func(t *testing.T) {
			verdict := New(row.config(t)).Judge(row.process(t))
			require.Equal(t, row["verdict"] == "match", verdict.Fires(), "%+v", verdict)
			require.Equal(t, row.text(t, "rule"), said(verdict))
		})
	}
}

// TestConformanceOfTheFirstLook: what is read of every process never says no to one that matches.
func TestConformanceOfTheFirstLook(t *testing.T) {
	for _, row := range conformanceRows(t) {
		if row["verdict"] != "match" {
			continue
		}
		t.Run(row["title"], func(t *testing.T) {
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

// conformanceRow maps the table's columns to their text; "title" is the case's number and name.
type conformanceRow map[string]string

func conformanceRows(t *testing.T) []conformanceRow {
	data, err := os.ReadFile(conformanceTable)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	columns := strings.Split(lines[0], "\t")
	var rows []conformanceRow
	for i, line := range lines[1:] {
		fields := strings.Split(line, "\t")
		require.Len(t, fields, len(columns), "%s:%d", conformanceTable, i+2)
		row := conformanceRow{}
		for c, field := range fields {
			row[columns[c]] = field
		}
		row["title"] = row["name"]
		if row["case"] != "-" {
			row["title"] = "Case " + row["case"] + " " + row["name"]
		}
		rows = append(rows, row)
	}
	return rows
}

var escape = regexp.MustCompile(`\\(x[0-9A-Fa-f]{2}|.)|␀`)

// text undoes the escapes of the table.
func (r conformanceRow) text(t *testing.T, column string) string {
	return escape.ReplaceAllStringFunc(r[column], func(e string) string {
		switch e {
		case "␀":
			return "\x00"
		case `\\`:
			return `\`
		case `\n`:
			return "\n"
		case `\t`:
			return "\t"
		}
		b, err := strconv.ParseUint(strings.TrimPrefix(e, `\x`), 16, 8)
		require.NoError(t, err, "escape %q in column %s", e, column)
		return string([]byte{byte(b)})
	})
}

// optional is text, with "-" for nothing.
func (r conformanceRow) optional(t *testing.T, column string) string {
	if r[column] == "-" {
		return ""
	}
	return r.text(t, column)
}

func (r conformanceRow) process(t *testing.T) Process {
	p := Process{
		Comm:         r.text(t, "comm"),
		Argv:         SplitArgv([]byte(r.optional(t, "argv"))),
		Exe:          r.optional(t, "exe"),
		Cgroup:       strings.Split(r.text(t, "cgroup"), "\n"),
		Vantage:      NewVantage(strings.Split(r.text(t, "pid1_cgroup"), "\n")),
		State:        'S',
		KernelThread: r["kind"] == "kernel-thread",
	}
	if r["kind"] == "zombie" {
		p.State = 'Z'
	}
	return p
}

func (r conformanceRow) config(t *testing.T) reclaim.Config {
	c, err := reclaim.Parse(r["name"], []byte("match_commands = "+r["commands"]+"\nmatch_argv_substrings = "+r["substrings"]+"\n"))
	require.NoError(t, err)
	return c
}
