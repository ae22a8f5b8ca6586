package reclaim

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/test/table"
)

const configs = "../../testdata/config"

// The shell tool is held to the same files: bats/config.bats.
func TestParseAgreesWithTheTableOfFiles(t *testing.T) {
	rows, err := table.Read(filepath.Join(configs, "table.tsv"))
	require.NoError(t, err)
	for _, row := range rows {
		t.Run(row["file"], func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(configs, row["file"]))
			require.NoError(t, err)
			got, err := Parse(row["file"], data)
			if row["go"] == "refused" {
				requireRefused(t, row, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, accepted(t, row), got)
		})
	}
}

func requireRefused(t *testing.T, row table.Row, err error) {
	t.Helper()
	require.ErrorContains(t, err, row["file"]+":"+row["line"]+":")
	if row["key"] != "-" {
		require.ErrorContains(t, err, row["key"])
	}
}

func accepted(t *testing.T, row table.Row) Config {
	t.Helper()
	commands, err := table.List(row["commands"])
	require.NoError(t, err)
	substrings, err := table.List(row["substrings"])
	require.NoError(t, err)
	interval, err := strconv.ParseInt(row["interval_ms"], 10, 64)
	require.NoError(t, err)
	return Config{MatchCommands: commands, MatchArgvSubstrings: substrings, PollIntervalMS: interval}
}

func TestEveryFileIsInTheTable(t *testing.T) {
	rows, err := table.Read(filepath.Join(configs, "table.tsv"))
	require.NoError(t, err)
	listed := []string{}
	for _, row := range rows {
		listed = append(listed, filepath.Join(configs, row["file"]))
	}
	present, err := filepath.Glob(filepath.Join(configs, "*.toml"))
	require.NoError(t, err)
	require.ElementsMatch(t, present, listed)
}
