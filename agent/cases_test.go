package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/test/table"
)

// The faults that similar tools have shipped are numbered, and each is a test that says its number. 35 and 36 are the shell tool's alone.
func TestCasesAreComplete(t *testing.T) {
	var want []int
	for n := 1; n <= 40; n++ {
		if n != 35 && n != 36 {
			want = append(want, n)
		}
	}
	have := map[int]bool{}
	casesOfTheTable(t, have)
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, "_test.go") {
			casesOfTests(t, path, have)
		}
		return err
	}))
	require.Equal(t, want, slices.Sorted(maps.Keys(have)))
}

// casesOfTheTable are those that package match takes from the table.
func casesOfTheTable(t *testing.T, have map[int]bool) {
	t.Helper()
	rows, err := table.Read("../testdata/conformance/table.tsv")
	require.NoError(t, err)
	for _, row := range rows {
		for number := range strings.SplitSeq(row["case"], ",") {
			if n, err := strconv.Atoi(number); err == nil {
				have[n] = true
			}
		}
	}
}

var (
	inName = regexp.MustCompile(`^TestCase(\d+)_`)
	inText = regexp.MustCompile(`^"Case (\d+)\b`)
)

// casesOfTests are those that are named by tests which `go test -run Case` runs: by the test itself, or by a part of it.
func casesOfTests(t *testing.T, path string, have map[int]bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	for _, declaration := range file.Decls {
		test, ok := declaration.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(test.Name.Name, "TestCase") {
			continue
		}
		note(have, inName.FindStringSubmatch(test.Name.Name))
		ast.Inspect(test, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok {
				note(have, inText.FindStringSubmatch(text.Value))
			}
			return true
		})
	}
}

func note(have map[int]bool, found []string) {
	if found == nil {
		return
	}
	if n, err := strconv.Atoi(found[1]); err == nil {
		have[n] = true
	}
}
