package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/match"
	"5spot.finos.org/node-reclaim/agent/proctest"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// commands and substrings are C{…} and A{…} of the cases.
func commands(entries ...string) *match.Matcher {
	return match.New(reclaim.Config{MatchCommands: entries})
}

func substrings(entries ...string) *match.Matcher {
	return match.New(reclaim.Config{MatchArgvSubstrings: entries})
}

func open(t testing.TB, root string) *FS {
	t.Helper()
	fs, err := Open(root, os.Getpid())
	require.NoError(t, err)
	t.Cleanup(func() { _ = fs.Close() })
	return fs
}

// look is one look at one process, as after its exec.
func look(t testing.TB, fs *FS, pid int, m *match.Matcher) bool {
	t.Helper()
	hit, err := newScout(fs).Look(pid, m)
	require.NoError(t, err)
	return hit != nil
}

// sweep gives the processes that one sweep finds: one at most.
func sweep(t testing.TB, fs *FS, m *match.Matcher) []int {
	t.Helper()
	var found []int
	w, err := fs.NewSweep(m, func(h Hit) { found = append(found, h.Process.PID) })
	require.NoError(t, err)
	for scout := newScout(fs); w.Step(scout); {
	}
	return found
}

func TestCasesOfRealProcesses(t *testing.T) {
	fs := open(t, "/proc")
	for name, tt := range map[string]struct {
		program string
		argv    []string
		matcher *match.Matcher
		want    bool
	}{
		"Case 1 a name over 15 bytes":          {"victoria-metrics-prod", nil, commands("victoria-metrics-prod"), true},
		"Case 1 another with the same 15":      {"victoria-metrics-dev", nil, commands("victoria-metrics-prod"), false},
		"Case 2 javac is not java":             {"javac", nil, commands("java"), false},
		"Case 2 javac by its arguments":        {"javac", []string{"javac"}, substrings("java"), true},
		"Case 3 a name with a space":           {"my app", nil, commands("my app"), true},
		"Case 3 a name like the end of a stat": {"a) S 1 (b", nil, commands("a) S 1 (b"), true},
		"Case 4 a name that is no UTF-8":       {"\xff\xfe", []string{"blender"}, substrings("blender"), true},
		"Case 4 a name cut inside a character": {"blüten-zeichnüng", nil, commands("blüten-zeichnüng"), true},
		"Case 6 a wrapped name":                {".steam-wrapped", []string{"steam"}, commands("steam"), false},
		"Case 6 a wrapped name, as it is":      {".steam-wrapped", []string{"steam"}, commands(".steam-wrapped"), true},
		"Case 7 the program, not the script":   {"idea", nil, commands("idea"), true},
		"Case 8 a Windows path":                {"wine64-preloader", []string{`C:\Games\Steam.exe`}, substrings("Steam.exe"), true},
		"Case 8 a Windows path is no command":  {"wine64-preloader", []string{`C:\Games\Steam.exe`}, commands("steam"), false},
		"Case 10 idea is not in IdeaProjects":  {"vi", []string{"/home/u/IdeaProjects/x"}, substrings("idea"), false},
		"Case 10 Idea is":                      {"vi", []string{"/home/u/IdeaProjects/x"}, substrings("Idea"), true},
		"Case 11 a file being edited":          {"vi", []string{"notes-intellij.txt"}, substrings("intellij"), true},
		"a name with a newline":                {"two\nlines", nil, commands("two\nlines"), true},
	} {
		t.Run(name, func(t *testing.T) {
			path := proctest.Copy(t, tt.program)
			if tt.argv == nil {
				tt.argv = []string{path}
			}
			p := proctest.Start(t, path, append(tt.argv, "600")...)
			require.Equal(t, tt.want, look(t, fs, p.Pid, tt.matcher))
		})
	}
}

func TestCase5_StartedThroughProcSelfExe(t *testing.T) {
	// A shell that execs itself is called exe from then on; its built-in read waits without starting anything.
	dash, err := os.ReadFile("/bin/dash")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "idea")
	require.NoError(t, os.WriteFile(path, dash, 0o755))
	cmd := &exec.Cmd{Path: path, Args: []string{"/opt/idea/bin/idea", "-c", `exec /proc/self/exe -c 'echo; read x' /idea/bin/`}}
	started, stdin := startWaiting(t, cmd)
	defer stdin()
	fs := open(t, "/proc")
	p, err := fs.Process(started)
	require.NoError(t, err)
	require.Equal(t, "exe", p.Comm)
	require.False(t, look(t, fs, started, commands("idea")))
	require.True(t, look(t, fs, started, substrings("/idea/bin/")))
}

func TestCase7_AScriptIsCalledLikeItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "idea.sh")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/dash\necho\nread x\n"), 0o755))
	pid, stdin := startWaiting(t, exec.Command(path))
	defer stdin()
	fs := open(t, "/proc")
	require.False(t, look(t, fs, pid, commands("idea")))
	require.True(t, look(t, fs, pid, commands("idea.sh")))
}

// startWaiting starts a program that prints a line once it is what it is to be, and then waits for its input to end.
func startWaiting(t *testing.T, cmd *exec.Cmd) (pid int, end func()) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = stdout.Read(make([]byte, 1))
	require.NoError(t, err)
	return cmd.Process.Pid, func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	}
}

func TestCase9_AProgramThatRenamesItselfIsFoundByTheNextSweep(t *testing.T) {
	tree := proctest.NewTree(t)
	tree.Add(10, proctest.Process{Comm: "sleeper"})
	fs := open(t, tree.Root)
	require.Empty(t, sweep(t, fs, commands("java")))
	tree.Add(10, proctest.Process{Comm: "java"})
	require.Equal(t, []int{10}, sweep(t, fs, commands("java")))
}

func TestCase13_VeryLongArguments(t *testing.T) {
	tree := proctest.NewTree(t)
	for pid, length := range map[int]int{60: 60_000, 140: 140_000, 2000: 2 << 20} {
		tree.Add(pid, proctest.Process{Comm: "tool", Argv: []string{"tool", strings.Repeat("x", length), "org.blender.Main"}})
	}
	fs := open(t, tree.Root)
	for _, pid := range []int{60, 140, 2000} {
		require.True(t, look(t, fs, pid, substrings("org.blender.Main")), "process %d", pid)
	}
	argument := strings.Repeat("x", 120_000) // the kernel allows 128 KiB for one
	pid, end := startWaiting(t, exec.Command("/bin/dash", "-c", "echo; read x", argument, argument, "org.blender.Main"))
	defer end()
	require.True(t, look(t, open(t, "/proc"), pid, substrings("org.blender.Main")))
}

func TestCase14_EmptyArgumentsAndZombies(t *testing.T) {
	tree := proctest.NewTree(t)
	tree.Add(10, proctest.Process{Comm: "quiet"})
	tree.Add(11, proctest.Process{Comm: "dead", State: "Z"})
	fs := open(t, tree.Root)
	require.Empty(t, sweep(t, fs, substrings("x")))
	require.False(t, look(t, fs, 10, substrings("x")))
}

func TestCase15_WhatCannotBeReadIsPassedOver(t *testing.T) {
	tree := proctest.NewTree(t)
	for pid := 2; pid < 9; pid++ {
		tree.Add(pid, proctest.Process{Comm: "java"})
		tree.Replace(pid, "comm")
	}
	tree.Add(9, proctest.Process{Comm: "java"})
	tree.Add(10, proctest.Process{Comm: "java"})
	fs := open(t, tree.Root)

	var found []int
	w, err := fs.NewSweep(commands("java"), func(h Hit) { found = append(found, h.Process.PID) })
	require.NoError(t, err)
	tree.Remove(9) // it was listed
	for scout := newScout(fs); w.Step(scout); {
	}
	require.Equal(t, []int{10}, found)
}

func TestCase16_AnExitedProcessThatWasNotReaped(t *testing.T) {
	cmd := exec.Command(proctest.Copy(t, "java"), "0")
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	fs := open(t, "/proc")
	require.Eventually(t, func() bool {
		p, err := fs.Process(cmd.Process.Pid)
		return err == nil && p.State == 'Z'
	}, 10*time.Second, time.Millisecond)

	for name, m := range map[string]*match.Matcher{"by name": commands("java"), "by arguments": substrings("java")} {
		_, err := newScout(fs).Look(cmd.Process.Pid, m)
		require.ErrorIs(t, err, ErrGone, name)
	}
}

func TestCase17_NothingIsRememberedOfAProcess(t *testing.T) {
	tree := proctest.NewTree(t)
	tree.Add(10, proctest.Process{Comm: "bash", Argv: []string{"bash"}, StartTime: 7})
	fs := open(t, tree.Root)
	require.Empty(t, sweep(t, fs, commands("java")))
	tree.Add(10, proctest.Process{Comm: "java", Argv: []string{"java"}, StartTime: 7}) // exec keeps pid and start time
	require.Equal(t, []int{10}, sweep(t, fs, commands("java")))
}

func TestCase18_AllReadsOfOneLookAreOfOneProcess(t *testing.T) {
	cmd := exec.Command(proctest.Copy(t, "java"), "600")
	require.NoError(t, cmd.Start())
	fs := open(t, "/proc")
	dir, err := openDirectory(fs.dir, fs.root, cmd.Process.Pid)
	require.NoError(t, err)
	defer dir.close()
	_, err = dir.read("comm")
	require.NoError(t, err)

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // from here on the number may be given to another
	for _, file := range []string{"comm", "cmdline", "stat", "cgroup"} {
		_, err = dir.read(file)
		require.ErrorIs(t, err, ErrGone, file)
	}
}

func TestStat(t *testing.T) {
	s, err := parseStat([]byte("7 (a) S 1 (b\n) Z 1 1 1 0 -1 2097216 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0"))
	require.NoError(t, err)
	require.Equal(t, stat{state: 'Z', kernelThread: true, startTime: 4711}, s)

	for name, line := range map[string]string{
		"nothing": "", "no name": "7", "cut off": "7 (x) S 1 1 1 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0",
		"no flags": "7 (x) S 1 1 1 0 -1 x 0 0 0 0 0 0 0 0 20 0 1 0 4711", "no start": "7 (x) S 1 1 1 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0 x",
	} {
		_, err := parseStat([]byte(line))
		require.Error(t, err, name)
	}
}

func TestKernelThreadsAreKnown(t *testing.T) {
	kthreadd, err := os.ReadFile("/proc/2/comm")
	if err != nil || string(kthreadd) != "kthreadd\n" {
		t.Skip("PID 2 is no kernel thread here: not in the initial PID namespace")
	}
	p, err := open(t, "/proc").Process(2)
	require.NoError(t, err)
	require.True(t, p.KernelThread)
	require.Empty(t, p.Argv)
}

func TestCase32_APodsProcessAndTheOwners(t *testing.T) {
	tree := proctest.NewTree(t)
	tree.Add(10, proctest.Process{Comm: "java", Cgroup: "0::/kubepods/besteffort/podX/c"})
	fs := open(t, tree.Root)
	require.Empty(t, sweep(t, fs, commands("java")))
	tree.Add(11, proctest.Process{Comm: "java", Cgroup: "0::/user.slice/user-1000.slice/session-2.scope"})
	require.Equal(t, []int{11}, sweep(t, fs, commands("java")))
}

func TestCase33_FromInsideAPod(t *testing.T) {
	tree := proctest.NewTree(t)
	tree.Add(1, proctest.Process{Comm: "systemd", Cgroup: "0::/../../../init.scope"})
	tree.Add(10, proctest.Process{Comm: "java", Cgroup: "0::/../../podB/ctr2"})
	fs := open(t, tree.Root)
	require.Empty(t, sweep(t, fs, commands("java")))
	tree.Add(11, proctest.Process{Comm: "java", Cgroup: "0::/../../../user.slice"})
	require.Equal(t, []int{11}, sweep(t, fs, commands("java")))
}

func TestItsOwnProcessIsSelf(t *testing.T) {
	fs := open(t, "/proc")
	p, err := fs.Process(os.Getpid())
	require.NoError(t, err)
	require.True(t, p.Self)
	self, err := os.Readlink("/proc/self/exe")
	require.NoError(t, err)
	require.Equal(t, self, p.Exe)
	require.Equal(t, os.Args, p.Argv)
	require.Equal(t, filepath.Base(self)[:min(15, len(filepath.Base(self)))], p.Comm)
	require.False(t, look(t, fs, os.Getpid(), commands(p.Comm)))
}

func TestOpenNamesTheRootThatIsNotThere(t *testing.T) {
	_, err := Open("/no/such/proc", 1)
	require.ErrorContains(t, err, "/no/such/proc")
}
