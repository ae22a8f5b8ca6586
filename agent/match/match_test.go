package match

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/api/reclaim"
)

func TestCase12_TheAgentNeverMatchesItself(t *testing.T) {
	m := New(reclaim.Config{MatchArgvSubstrings: []string{"intellij"}})
	p := Process{Comm: "5spot-reclaim-a", Argv: []string{"5spot-reclaim-agent", "run", "--config", "/x/intellij.toml"}, State: 'S'}
	require.True(t, m.Judge(p).Fires(), "another one does")

	p.Self = true
	require.Equal(t, Verdict{Rule: Rule{ListSubstrings, "intellij"}, Fits: true, Ignored: IgnoredSelf}, m.Judge(p))
}

func TestCase10_ShortSubstringsAreBroad(t *testing.T) {
	c := reclaim.Config{
		MatchCommands:       []string{"go"}, // compared as a whole: short is fine
		MatchArgvSubstrings: []string{"vim", "idea", "/opt/x", "steamwebhelper"},
	}
	require.Equal(t, []string{"vim", "idea"}, c.BroadSubstrings())
}

func TestCase14_NothingMatchesAProcessWithoutArguments(t *testing.T) {
	m := New(reclaim.Config{MatchArgvSubstrings: []string{"x", ""}, MatchCommands: []string{""}})
	require.False(t, m.Judge(Process{State: 'S'}).Fits)
	require.False(t, m.MayMatchComm(nil))
	require.False(t, m.MayMatchArgs(nil))
}

func TestTheDeadDoNotCount(t *testing.T) {
	m := New(reclaim.Config{MatchCommands: []string{"java"}})
	for state, want := range map[byte]Ignored{'R': "", 'S': "", 'D': "", 'T': "", 't': "", 'I': "", 'Z': IgnoredZombie, 'X': IgnoredZombie} {
		require.Equal(t, want, m.Judge(Process{Comm: "java", State: state}).Ignored, "state %c", state)
	}
}

func TestPodsOfARuntimeOutsideSystemdWhoseDriverDisagrees(t *testing.T) {
	require.True(t, Vantage{}.pod([]string{"0::/kubepods-besteffort-podX.slice:cri-containerd:1"}))
	require.False(t, Vantage{}.pod([]string{"0::/kubepods-backup/a:b:c"}))
}

func TestEachHierarchyHasItsOwnDepth(t *testing.T) {
	v := NewVantage([]string{"9:name=systemd:/../../init.scope", "4:memory:/"})
	require.True(t, v.pod([]string{"9:name=systemd:/../podB"}))
	require.False(t, v.pod([]string{"9:name=systemd:/../../user.slice"}))
	require.False(t, v.pod([]string{"4:memory:/user.slice"}))
	require.True(t, v.pod([]string{"9:name=systemd:/../../user.slice", "4:memory:/kubepods/burstable"}))
}

func TestArgumentsAreJoinedAsTheyAreSplit(t *testing.T) {
	for cmdline, want := range map[string][]string{
		"":                                  nil,
		"\x00":                              {""},
		"java\x00-jar\x00":                  {"java", "-jar"},
		"a\x00\x00b\x00":                    {"a", "", "b"},
		"a title set by the program itself": {"a title set by the program itself"},
		"a\x00\x00":                         {"a", ""},
	} {
		require.Equal(t, want, SplitArgv([]byte(cmdline)), "%q", cmdline)
		require.Equal(t, strings.Join(want, " "), string(JoinArgv([]byte(cmdline))), "%q", cmdline)
	}
}

func FuzzArgv(f *testing.F) {
	f.Add([]byte("java\x00-jar\x00"))
	f.Fuzz(func(t *testing.T, cmdline []byte) {
		require.Equal(t, strings.Join(SplitArgv(cmdline), " "), string(JoinArgv(bytes.Clone(cmdline))))
	})
}

// FuzzCgroup: the classifier takes whatever the kernel or a user's cgroup names say, and what an owner can name, below the top, decides
// nothing.
func FuzzCgroup(f *testing.F) {
	f.Add("0::/../../podB/ctr2", "0::/../../..")
	f.Add("4:memory:/kubepods/besteffort/podX/c", "4:memory:/")
	f.Add("0::/system.slice/containerd.service/kubepods-podX.slice:cri-containerd:1", "")
	f.Fuzz(func(t *testing.T, line, pid1 string) {
		NewVantage([]string{pid1}).pod([]string{line})
		NewVantage([]string{pid1}).machinery("java", []string{line})

		_, path, ok := parseCgroup(line)
		if ok && levelsUp(path) == 0 {
			below := []string{"0::/user.slice/" + strings.Join(path, "/")}
			require.False(t, Vantage{}.pod(below), "%q", below)
			require.False(t, Vantage{}.machinery("java", below), "%q", below)
		}
	})
}
