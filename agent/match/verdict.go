package match

// Ignored names why a process does not count, whatever it is called. Empty: it counts.
type Ignored string

// What is ignored.
const (
	IgnoredSelf         Ignored = "the agent itself"
	IgnoredZombie       Ignored = "a zombie: it has ended"
	IgnoredKernelThread Ignored = "a kernel thread"
	IgnoredPod          Ignored = "a process of one of the cluster's pods"
	IgnoredMachinery    Ignored = "the node's own machinery"
)

// Verdict is what is to be said of one process.
type Verdict struct {
	// Rule is the entry that the process fits, when Fits.
	Rule Rule
	Fits bool
	// Ignored says why it would not count all the same.
	Ignored Ignored
}

// Fires says whether the process makes the node leave.
func (v Verdict) Fires() bool { return v.Fits && v.Ignored == "" }

// Judge has the last word on p.
func (m *Matcher) Judge(p Process) Verdict {
	rule, fits := m.rule(p)
	return Verdict{Rule: rule, Fits: fits, Ignored: ignored(p)}
}

func ignored(p Process) Ignored {
	switch {
	case p.Self:
		return IgnoredSelf
	case p.State == 'Z' || p.State == 'X':
		return IgnoredZombie
	case p.KernelThread:
		return IgnoredKernelThread
	case p.Vantage.pod(p.Cgroup):
		return IgnoredPod
	case p.Vantage.machinery(p.Comm, p.Cgroup):
		return IgnoredMachinery
	}
	return ""
}
