package command

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/proctest"
)

// host is a made-up host and what was printed on it.
type host struct {
	t        *testing.T
	env      Env
	proc     proctest.Tree
	out, err bytes.Buffer
}

func newHost(t *testing.T) *host {
	h := &host{t: t, proc: proctest.NewTree(t)}
	h.env = Env{
		Version: "v1.2.3", Out: &h.out, Err: &h.err, Clock: clock.RealClock{}, Getenv: func(string) string { return "" },
		Proc: h.proc.Root, MachineID: filepath.Join(t.TempDir(), "machine-id"), Installed: "/nowhere",
	}
	return h
}

func (h *host) run(args ...string) int {
	h.out.Reset()
	h.err.Reset()
	return Run(h.t.Context(), h.env, args)
}

func (h *host) config(text string) string {
	path := filepath.Join(h.t.TempDir(), "reclaim.toml")
	require.NoError(h.t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

const java = "match_commands = ['java']\nmatch_argv_substrings = ['com.intellij', 'go']\n"

func TestCheckListsWhatWouldMatchNow(t *testing.T) {
	h := newHost(t)
	h.proc.Add(42, proctest.Process{Comm: "java", Argv: []string{"java", "-jar", "x.jar"}})
	h.proc.Add(43, proctest.Process{Comm: "java", Argv: []string{"java"}, Cgroup: "0::/kubepods/besteffort/podX/c"})
	h.proc.Add(44, proctest.Process{Comm: "vi\xff", Argv: []string{"vim", "com.intellij.txt"}})
	path := h.config(java)
	require.Equal(t, ExitMatch, h.run("check", "--config", path))
	require.Empty(t, h.err.String())
	require.Equal(t, []string{
		path + ": good, 1 commands, 2 argument substrings (" + hash(h.out.String()) + ")",
		`warning: match_argv_substrings: "go" will match more than programs of that name`,
		`match: PID 42 "java" by match_commands "java"`,
		`match: PID 44 "vi\xff" by match_argv_substrings "com.intellij"`,
		"running processes that match: 2", "",
	}, strings.Split(h.out.String(), "\n"))
}

func hash(line string) string { return line[strings.Index(line, "(")+1 : strings.Index(line, ")")] }

func TestCheckAsJSON(t *testing.T) {
	h := newHost(t)
	require.Equal(t, ExitOK, h.run("check", "-o", "json", "--config", h.config("")))
	var r report
	require.NoError(t, json.Unmarshal(h.out.Bytes(), &r))
	require.Equal(t, []string{"both lists are empty: nothing is matched"}, r.Warnings)
	require.Contains(t, h.out.String(), `"matches": []`)

	h.proc.Add(42, proctest.Process{Comm: "java", Argv: []string{"java"}})
	require.Equal(t, ExitMatch, h.run("check", "-o", "json", "--config", h.config(java)))
	require.NoError(t, json.Unmarshal(h.out.Bytes(), &r))
	require.Equal(t, []hit{{PID: 42, Comm: "java", List: "match_commands", Entry: "java"}}, r.Matches)
}

func TestABadConfigurationIsRefusedWithItsLine(t *testing.T) {
	h := newHost(t)
	path := h.config("\nmatch_comands = []\n")
	for _, args := range [][]string{{"check"}, {"explain", "1"}} {
		require.Equal(t, ExitUsage, h.run(append(args, "--config", path)...))
		require.Contains(t, h.err.String(), "5spot-reclaim-agent: "+path+`:2: unknown key "match_comands"`)
	}
}

func TestExplain(t *testing.T) {
	h := newHost(t)
	h.proc.Add(2, proctest.Process{Comm: "vim", Argv: []string{"vim", "notes-com.intellij.txt"}})
	h.proc.Add(3, proctest.Process{Comm: "java", Argv: []string{"java"}, Cgroup: "0::/kubepods/besteffort/podX/c"})
	h.proc.Add(4, proctest.Process{Comm: "sshd", Argv: []string{"sshd"}})
	for pid, want := range map[int]struct {
		code int
		text string
	}{
		2: {ExitMatch, `would make this machine leave: it fits match_argv_substrings "com.intellij"`},
		3: {ExitOK, `ignored: it fits match_commands "java", but it is a process of one of the cluster's pods`},
		4: {ExitOK, "would not: it fits no entry"},
	} {
		require.Equal(t, want.code, h.run("explain", strconv.Itoa(pid), "--config", h.config(java)))
		require.Contains(t, h.out.String(), want.text)
	}
	require.Equal(t, ExitFailed, h.run("explain", "4711", "--config", h.config(java)))
	require.Contains(t, h.err.String(), "there is no process 4711")
}

func TestAWrongCommandLineIsToldApart(t *testing.T) {
	for _, args := range [][]string{
		{"bogus"}, {"explain"}, {"explain", "java"}, {"check", "-o", "yaml"}, {"run", "--log-format", "xml"}, {"run", "--no-such-flag"}, {"version", "x"},
	} {
		h := newHost(t)
		require.Equal(t, ExitUsage, h.run(append(args, "--config", h.config(java))...), "%v", args)
		require.True(t, strings.HasPrefix(h.err.String(), "5spot-reclaim-agent: "), h.err.String())
	}
}

func TestVersionAndCompletion(t *testing.T) {
	h := newHost(t)
	require.Equal(t, ExitOK, h.run("version"))
	require.Equal(t, "v1.2.3\n", h.out.String())
	require.Equal(t, ExitOK, h.run("completion", "bash"))
	require.Contains(t, h.out.String(), "5spot-reclaim-agent")
}

func TestStatusOnAMachineThatHasNotJoined(t *testing.T) {
	h := newHost(t)
	require.Equal(t, ExitOK, h.run("status", "--config", h.config(java), "--kubeconfig", "/nowhere/kubelet.conf"))
	require.Regexp(t, `configuration: +.*1 commands, 2 argument substrings, 250ms between sweeps`, h.out.String())
	require.Regexp(t, `Node: +.*no kubeconfig at /nowhere/kubelet.conf: this machine has not joined a cluster`, h.out.String())
}

func TestReclaimOnAMachineThatHasNotJoined(t *testing.T) {
	h := newHost(t)
	require.Equal(t, ExitFailed, h.run("reclaim", "--kubeconfig", "/nowhere/kubelet.conf"))
	require.Contains(t, h.err.String(), "this machine has not joined a cluster")
}

func TestTheJournalKnowsTheTime(t *testing.T) {
	for _, tt := range []struct{ stream, format, want string }{
		{"8:123", "text", "level=INFO msg=hello comm=\"\\xff\\n\"\n"},
		{"8:123", "json", `{"level":"INFO","msg":"hello","comm":"\ufffd\n"}` + "\n"},
	} {
		h := newHost(t)
		h.env.Getenv = func(string) string { return tt.stream }
		log, err := logger(h.env, tt.format)
		require.NoError(t, err)
		log.Info("hello", "comm", "\xff\n")
		require.Equal(t, tt.want, h.err.String())
	}
	var out bytes.Buffer
	log, err := logger(Env{Err: io.Writer(&out), Getenv: func(string) string { return "" }}, "text")
	require.NoError(t, err)
	log.LogAttrs(t.Context(), slog.LevelInfo, "hello")
	require.True(t, strings.HasPrefix(out.String(), "time="))
}

func TestExplainTellsAThreadFromItsProcess(t *testing.T) {
	h := newHost(t)
	h.proc.Add(42, proctest.Process{Comm: "java", Argv: []string{"java"}})
	thread := filepath.Join(h.proc.Root, "43")
	require.NoError(t, os.Mkdir(thread, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(thread, "status"), []byte("Name:\tjava\nTgid:\t42\n"), 0o600))
	require.Equal(t, ExitFailed, h.run("explain", "--config", h.config(java), "43"))
	require.Contains(t, h.err.String(), "43 is a thread of process 42: explain that one")
}

func TestWithoutAConfigurationItIsSaidWhatThatMeans(t *testing.T) {
	h := newHost(t)
	for _, args := range [][]string{{"check"}, {"explain", "1"}} {
		require.Equal(t, ExitUsage, h.run(append(args, "--config", "/no/such.toml")...))
		require.Contains(t, h.err.String(), "there is no configuration /no/such.toml, so nothing is asked of this machine")
	}
}
