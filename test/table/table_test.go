package table

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.tsv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestRowsGoByColumnName(t *testing.T) {
	rows, err := Read(write(t, "name\targv\none\ta␀\ntwo\t-\n"))
	require.NoError(t, err)
	require.Equal(t, []Row{{"name": "one", "argv": "a␀"}, {"name": "two", "argv": "-"}}, rows)
}

func TestALineWithAColumnTooFewIsNamed(t *testing.T) {
	_, err := Read(write(t, "name\targv\none\n"))
	require.ErrorContains(t, err, "table.tsv:2: 1 columns, want 2")
}

func TestCells(t *testing.T) {
	for cell, want := range map[string]string{
		"-":           "",
		"java":        "java",
		`"x"`:         `"x"`,
		`a\\b\n\t`:    "a\\b\n\t",
		`\xff\xfe`:    "\xff\xfe",
		"java␀-jar␀":  "java\x00-jar\x00",
		`C:\\0ad.exe`: `C:\0ad.exe`,
	} {
		got, err := Bytes(cell)
		require.NoError(t, err)
		require.Equal(t, want, got, "cell %s", cell)
	}
	_, err := Bytes(`\q`)
	require.ErrorContains(t, err, "cell")
}

func TestLists(t *testing.T) {
	for cell, want := range map[string][]string{"-": {}, "a␀": {"a"}, "a␀␀b␀": {"a", "", "b"}} {
		got, err := List(cell)
		require.NoError(t, err)
		require.Equal(t, want, got, "cell %s", cell)
	}
}
