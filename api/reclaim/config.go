package reclaim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// Bounds of poll_interval_ms, in milliseconds.
const (
	DefaultPollIntervalMS = 250
	MinPollIntervalMS     = 10
	MaxPollIntervalMS     = 60000
)

// Config is reclaim.toml: what counts as the owner coming back.
type Config struct {
	// MatchCommands are compared with a process's command name, byte for byte.
	MatchCommands []string `toml:"match_commands"`
	// MatchArgvSubstrings are searched for in a process's arguments, joined by one space.
	MatchArgvSubstrings []string `toml:"match_argv_substrings"`
	// PollIntervalMS is the time between two sweeps of /proc, in milliseconds.
	PollIntervalMS int64 `toml:"poll_interval_ms"`
}

// PollInterval is the time between two sweeps of /proc.
func (c Config) PollInterval() time.Duration {
	return time.Duration(c.PollIntervalMS) * time.Millisecond
}

// Inert says that nothing can ever match.
func (c Config) Inert() bool { return len(c.MatchCommands) == 0 && len(c.MatchArgvSubstrings) == 0 }

// Encode writes the configuration as TOML. The result always parses back to c.
func (c Config) Encode() ([]byte, error) {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).SetArraysMultiline(true).Encode(c); err != nil {
		return nil, fmt.Errorf("encoding %s: %w", ConfigKey, err)
	}
	return b.Bytes(), nil
}

// Hash identifies what the configuration means: equal for files that differ only in form.
func (c Config) Hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d", c.MatchCommands, c.MatchArgvSubstrings, c.PollIntervalMS)
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// minSubstringBytes keeps one and two letter entries out of the argument search: "go" would match most command lines.
const minSubstringBytes = 3

// Project is what spec.killIfCommands means on a node. An entry with '/' or a space can only be found in arguments; one under three
// bytes is only compared with command names; every other is both.
func Project(killIfCommands []string) Config {
	c := Config{MatchCommands: []string{}, MatchArgvSubstrings: []string{}, PollIntervalMS: DefaultPollIntervalMS}
	for _, entry := range killIfCommands {
		onlyArgv := strings.ContainsAny(entry, "/ ")
		if !onlyArgv {
			c.MatchCommands = append(c.MatchCommands, entry)
		}
		if onlyArgv || len(entry) >= minSubstringBytes {
			c.MatchArgvSubstrings = append(c.MatchArgvSubstrings, entry)
		}
	}
	return c
}
