package reclaim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Keys of reclaim.toml.
const (
	keyCommands   = "match_commands"
	keySubstrings = "match_argv_substrings"
	keyInterval   = "poll_interval_ms"
)

// MaxFileBytes bounds a configuration. A hundred entries of 256 characters in both lists take less than 300 KB, however they are quoted. Whoever may
// write the ConfigMap could have any node read a larger one over and over.
const MaxFileBytes = 512 << 10

// Parse reads a configuration. file is only named in errors, which say file:line, key, fault and remedy. The library alone would take
// keys in any case and report a wrong element without its line, so the syntax tree is walked for both. It comes first: of a key that is not
// known, the library would make an object for each of its parts.
func Parse(file string, data []byte) (Config, error) {
	if len(data) > MaxFileBytes {
		return Config{}, fmt.Errorf("%s: %d bytes are more than the %d that a configuration may have; shorten the lists", file, len(data), MaxFileBytes)
	}
	c := Config{MatchCommands: []string{}, MatchArgvSubstrings: []string{}, PollIntervalMS: DefaultPollIntervalMS}
	p := unstable.Parser{}
	p.Reset(data)
	for p.NextExpression() {
		if err := c.set(&p, p.Expression()); err != nil {
			return Config{}, fmt.Errorf("%s:%w", file, err)
		}
	}
	if err := syntax(file, data); err != nil {
		return Config{}, err
	}
	if err := p.Error(); err != nil {
		return Config{}, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// syntax refuses what is not TOML at all, duplicate keys included.
func syntax(file string, data []byte) error {
	var anything map[string]any
	err := toml.Unmarshal(data, &anything)
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, _ := at.Position()
		return fmt.Errorf("%s:%d: not valid TOML: %s", file, line, strings.TrimPrefix(at.Error(), "toml: "))
	}
	if err != nil {
		return fmt.Errorf("%s: not valid TOML: %s", file, strings.TrimPrefix(err.Error(), "toml: "))
	}
	return nil
}

// set takes one expression of the file into c. Its errors begin with the line number.
func (c *Config) set(p *unstable.Parser, e *unstable.Node) error {
	if e.Kind != unstable.KeyValue {
		return fmt.Errorf("%d: a table is not expected here; the file has three keys: %s, %s, %s",
			lineOf(p, e), keyCommands, keySubstrings, keyInterval)
	}
	key, first := keyOf(e)
	switch key {
	case keyCommands:
		return setStrings(p, e.Value(), key, first, &c.MatchCommands, checkCommand)
	case keySubstrings:
		return setStrings(p, e.Value(), key, first, &c.MatchArgvSubstrings, checkSubstring)
	case keyInterval:
		return c.setInterval(e.Value(), lineOf(p, first))
	}
	return fmt.Errorf("%d: unknown key %q; the keys are %s, %s and %s", lineOf(p, first), cut(key), keyCommands, keySubstrings, keyInterval)
}

// setStrings takes an array. at is the last node before a fault whose place is known; to work out its line takes as long as the file is, and is only
// done for a fault.
func setStrings(p *unstable.Parser, v *unstable.Node, key string, at *unstable.Node, dst *[]string, check func(string) string) error {
	if v.Kind != unstable.Array {
		return fmt.Errorf("%d: %s: want an array of strings, for example [\"java\"]", lineOf(p, at), key)
	}
	for it := v.Children(); it.Next(); {
		n := it.Node()
		if n.Kind == unstable.Comment {
			continue
		}
		if n.Raw.Length > 0 {
			at = n
		}
		if n.Kind != unstable.String {
			return fmt.Errorf("%d: %s: every entry is a string in quotes, for example [\"java\"]", lineOf(p, at), key)
		}
		if fault := check(string(n.Data)); fault != "" {
			return fmt.Errorf("%d: %s: %q: %s", lineOf(p, at), key, cut(string(n.Data)), fault)
		}
		*dst = append(*dst, string(n.Data))
	}
	return nil
}

func (c *Config) setInterval(v *unstable.Node, line int) error {
	var holder struct {
		N int64 `toml:"n"`
	}
	if v.Kind != unstable.Integer || toml.Unmarshal(append([]byte("n = "), v.Data...), &holder) != nil {
		return fmt.Errorf("%d: %s: want a whole number of milliseconds, for example %d", line, keyInterval, DefaultPollIntervalMS)
	}
	if holder.N < MinPollIntervalMS || holder.N > MaxPollIntervalMS {
		return fmt.Errorf("%d: %s: %d is outside %d to %d milliseconds", line, keyInterval, holder.N, MinPollIntervalMS, MaxPollIntervalMS)
	}
	c.PollIntervalMS = holder.N
	return nil
}

// checkCommand says what is wrong with an entry of match_commands, or nothing.
func checkCommand(s string) string {
	if strings.Contains(s, "/") {
		return "a command name has no '/'; give the last part of the path, or use " + keySubstrings
	}
	return checkSubstring(s)
}

// checkSubstring says what is wrong with an entry of either list, or nothing.
func checkSubstring(s string) string {
	switch {
	case s == "":
		return "an empty string would match every process; remove it"
	case strings.ContainsAny(s, "\x00\n"):
		return "an entry is one line without NUL"
	}
	return ""
}

// keyOf joins a dotted key as it is written, and gives its first part.
func keyOf(e *unstable.Node) (joined string, first *unstable.Node) {
	var parts []string
	for it := e.Key(); it.Next(); {
		if first == nil {
			first = it.Node()
		}
		parts = append(parts, string(it.Node().Data))
	}
	return strings.Join(parts, "."), first
}

func lineOf(p *unstable.Parser, n *unstable.Node) int {
	if n.Raw.Length == 0 && n.Child() != nil {
		n = n.Child()
	}
	return p.Shape(n.Raw).Start.Line
}
