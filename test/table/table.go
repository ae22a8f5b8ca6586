// Package table reads the tab-separated tables under testdata that more than one implementation is held to. It must not know what a
// table is about.
package table

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Row is one line of a table, by column name.
type Row map[string]string

// Read reads a table: column names in the first line, one row per further line, columns separated by one tab.
func Read(path string) ([]Row, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading table: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	columns := strings.Split(lines[0], "\t")
	rows := make([]Row, 0, len(lines)-1)
	for i, line := range lines[1:] {
		row, err := parse(columns, line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+2, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func parse(columns []string, line string) (Row, error) {
	cells := strings.Split(line, "\t")
	if len(cells) != len(columns) {
		return nil, fmt.Errorf("%d columns, want %d", len(cells), len(columns))
	}
	row := Row{}
	for i, column := range columns {
		row[column] = cells[i]
	}
	return row, nil
}

// Bytes is what a cell stands for: "-" is empty, a backslash begins an escape as in a Go string, and U+2400 (␀) is the byte NUL.
func Bytes(cell string) (string, error) {
	if cell == "-" {
		return "", nil
	}
	quoted := `"` + strings.NewReplacer(`"`, `\"`, "␀", `\x00`).Replace(cell) + `"`
	s, err := strconv.Unquote(quoted)
	if err != nil {
		return "", fmt.Errorf("cell %q: %w", cell, err)
	}
	return s, nil
}

// List is what a cell stands for when it holds elements, each followed by U+2400 (␀).
func List(cell string) ([]string, error) {
	s, err := Bytes(cell)
	if err != nil || s == "" {
		return []string{}, err
	}
	return strings.Split(strings.TrimSuffix(s, "\x00"), "\x00"), nil
}
