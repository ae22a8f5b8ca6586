package reclaim

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRequestExistsOnlyWhileExactlyTrue(t *testing.T) {
	now := time.Date(2026, 4, 19, 21, 30, 5, 0, time.UTC)
	for _, value := range []string{"", "True", "TRUE", "1", "yes", " true", "true ", "false"} {
		_, ok := RequestFrom(map[string]string{AnnotationRequested: value, AnnotationReason: "x"}, now)
		require.False(t, ok, "value %q", value)
	}
	_, ok := RequestFrom(map[string]string{AnnotationRequested: "true"}, now)
	require.True(t, ok)
}

func TestRequestTimeFallsBackToObservation(t *testing.T) {
	now := time.Date(2026, 4, 19, 21, 30, 5, 0, time.UTC)
	for written, want := range map[string]time.Time{
		"2026-04-19T21:30:00Z":          now.Add(-5 * time.Second),
		"2026-04-19T21:30:00.5Z":        now.Add(-4500 * time.Millisecond),
		"2026-04-19T23:30:00+02:00":     now.Add(-5 * time.Second),
		"":                              now,
		"yesterday":                     now,
		"0001-01-01T00:00:00Z":          now,
		"0000-01-01T00:00:00+23:59":     now,
		"1970-01-01T00:00:00Z":          now, // a clock without a battery
		"2026-04-19T21:30:06Z":          now, // the future
		"2026-04-19 21:30:00":           now,
		strings.Repeat("9", 1000) + "Z": now,
	} {
		got, ok := RequestFrom(map[string]string{AnnotationRequested: "true", AnnotationRequestedAt: written}, now)
		require.True(t, ok)
		require.True(t, want.Equal(got.At), "%q: got %s", written, got.At)
	}
}

func TestRequestRoundTrip(t *testing.T) {
	r := Request{Reason: ProcessMatch("java"), At: time.Date(2026, 4, 19, 21, 30, 0, 250e6, time.UTC)}
	require.Equal(t, "2026-04-19T21:30:00.25Z", r.Annotations()[AnnotationRequestedAt])
	got, ok := RequestFrom(r.Annotations(), r.At.Add(time.Second))
	require.True(t, ok)
	require.Equal(t, r, got)
}

func TestReasonIsPrintableAndBounded(t *testing.T) {
	require.Equal(t, "process-match: java", CleanReason("process-match: java"))
	require.Equal(t, "a?b?[31m?", CleanReason("a\nb\x1b[31m\xff"))
	require.Equal(t, "??x", CleanReason("\u202e\u2028x"), "direction override and line separator")
	long := CleanReason(strings.Repeat("é", 500))
	require.Len(t, long, 256)
	require.True(t, strings.HasSuffix(long, "é"))
	require.Len(t, CleanReason("x"+strings.Repeat("é", 500)), 255)
}

func TestParse(t *testing.T) {
	c, err := Parse("reclaim.toml", []byte("# owner's programs\nmatch_commands = [ 'java', # JVM\n  \"idea\" ]\npoll_interval_ms = 1_000\n"))
	require.NoError(t, err)
	require.Equal(t, Config{MatchCommands: []string{"java", "idea"}, MatchArgvSubstrings: []string{}, PollIntervalMS: 1000}, c)

	c, err = Parse("reclaim.toml", nil)
	require.NoError(t, err)
	require.True(t, c.Inert())
	require.EqualValues(t, DefaultPollIntervalMS, c.PollIntervalMS)
}

func TestParseRefusesWithFileLineAndKey(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"unknown key":        {"\nmatch_comands = []", `f.toml:2: unknown key "match_comands"`},
		"key in other case":  {"Match_Commands = []", `f.toml:1: unknown key "Match_Commands"`},
		"dotted key":         {"a.b = 1", `f.toml:1: unknown key "a.b"`},
		"table":              {"\n[match_commands]\na = 1", "f.toml:2: a table is not expected"},
		"string for array":   {"match_commands = 'java'", "f.toml:1: match_commands: want an array"},
		"number in array":    {"match_commands = ['java',\n 1]", "match_commands: every entry is a string"},
		"empty string":       {"match_argv_substrings = ['x',\n\n '']", "f.toml:3: match_argv_substrings: \"\": an empty string"},
		"slash in command":   {"match_commands = ['/usr/bin/java']", "f.toml:1: match_commands: \"/usr/bin/java\": a command name has no '/'"},
		"newline in command": {`match_commands = ["a\nb"]`, "f.toml:1: match_commands: \"a\\nb\": an entry is one line"},
		"NUL":                {`match_argv_substrings = ["a\u0000b"]`, "one line without NUL"},
		"interval low":       {"poll_interval_ms = 9", "f.toml:1: poll_interval_ms: 9 is outside 10 to 60000"},
		"interval high":      {"poll_interval_ms = 60001", "outside 10 to 60000"},
		"interval negative":  {"poll_interval_ms = -1", "outside 10 to 60000"},
		"interval float":     {"poll_interval_ms = 250.0", "want a whole number"},
		"interval string":    {"poll_interval_ms = '250'", "want a whole number"},
		"interval huge":      {"poll_interval_ms = 99999999999999999999", "f.toml:1:"},
		"not TOML":           {"match_commands = ['java'\npoll_interval_ms", "f.toml:2: not valid TOML"},
		"too large":          {"match_commands = []\n#" + strings.Repeat("x", MaxFileBytes), "f.toml: 524309 bytes are more than the 524288"},
		"key of many parts":  {"\n" + strings.Repeat("a.", 100_000) + "a = 1", "f.toml:2: unknown key \"a.a.a."},
		"fault at the end":   {"match_commands = [\n" + strings.Repeat("'a',\n", 50_000) + "'']", "f.toml:50002: match_commands: \"\": an empty"},
		"duplicate key":      {"poll_interval_ms = 10\npoll_interval_ms = 20", "f.toml:"},
		"invalid UTF-8":      {"match_commands = ['\xff']", "f.toml:1: not valid TOML"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f.toml", []byte(tt.in))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestProject(t *testing.T) {
	c := Project([]string{"java", "go", "/opt/idea/", "com.intellij idea", "it's \"x\"\\"})
	require.Equal(t, []string{"java", "go"}, c.MatchCommands)
	require.Equal(t, []string{"java", "/opt/idea/", "com.intellij idea", "it's \"x\"\\"}, c.MatchArgvSubstrings)
	require.True(t, Project(nil).Inert())
	require.True(t, Project([]string{}).Inert())
}

func FuzzProjectedConfigParses(f *testing.F) {
	f.Add("java", "it's \"x\"\\")
	f.Add("C:\\Games\\Steam.exe", "\x1b[31m\u202e")
	f.Fuzz(func(t *testing.T, a, b string) {
		want := Project([]string{strings.ToValidUTF8(a, "?"), strings.ToValidUTF8(b, "?")})
		for _, s := range want.MatchArgvSubstrings {
			if checkSubstring(s) != "" {
				t.Skip("refused at admission")
			}
		}
		for _, s := range want.MatchCommands {
			if checkCommand(s) != "" {
				t.Skip("refused at admission")
			}
		}
		data, err := want.Encode()
		require.NoError(t, err)
		got, err := Parse("f.toml", data)
		require.NoError(t, err, string(data))
		require.Equal(t, want, got)
		require.Equal(t, want.Hash(), got.Hash())
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("match_commands = ['java']\npoll_interval_ms = 250\n"))
	f.Add([]byte("[a]\nb = {c = [1, {}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f.toml", data)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "f.toml:"), err.Error())
			return
		}
		require.GreaterOrEqual(t, c.PollIntervalMS, int64(MinPollIntervalMS))
	})
}
