// Package proctest helps the agent's tests: a made-up /proc, real processes of any name, and a second life of a test in namespaces of
// its own. It must not know what is tested with it.
package proctest

import (
	"os"
	"testing"
)

// NeedRoot skips a test that works only as root, with the kernel's connector in reach; in CI a skip would hide a gap, so there it fails.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		skip(t, "needs root in the initial namespaces")
	}
}

func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
