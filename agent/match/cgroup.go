package match

import "strings"

// Vantage is the place from which cgroup paths are read. In a private cgroup namespace the kernel writes the paths of others relative
// to its root: "/../../podB/ctr" begins two levels up. The zero Vantage is the host's own namespace, where paths are absolute.
type Vantage struct {
	// depth is, for each hierarchy, how many levels our root lies below the host's.
	depth map[string]int
}

// NewVantage works the depth out from the cgroup lines of PID 1, which sits at the top of the host or, in "/init.scope", right below.
func NewVantage(pid1 []string) Vantage {
	v := Vantage{depth: map[string]int{}}
	for _, line := range pid1 {
		if hierarchy, path, ok := parseCgroup(line); ok {
			v.depth[hierarchy] = levelsUp(path)
		}
	}
	return v
}

// pod says whether any of the lines places a process in one of the cluster's pods. Under cgroup v1 there is a line for each hierarchy,
// and a service manager may have moved the process in some of them only.
func (v Vantage) pod(lines []string) bool {
	for _, line := range lines {
		if path, besideUs := v.absolute(line); besideUs || podPath(path) {
			return true
		}
	}
	return false
}

// absolute gives the components of a line's path from the host's top. With besideUs there are fewer levels up than to the top: the
// process shares the reader's own top component. A reader that sees such paths runs in a pod (its systemd unit has no cgroup namespace
// of its own), so the process does, too.
func (v Vantage) absolute(line string) (path []string, besideUs bool) {
	hierarchy, path, ok := parseCgroup(line)
	if !ok {
		return nil, false
	}
	up := levelsUp(path)
	return path[up:], up < v.depth[hierarchy]
}

// parseCgroup splits "4:memory:/a/b" into the hierarchy and the path's components. A path may itself contain colons.
func parseCgroup(line string) (hierarchy string, path []string, ok bool) {
	fields := strings.SplitN(line, ":", 3)
	if len(fields) != 3 {
		return "", nil, false
	}
	return fields[1], strings.FieldsFunc(fields[2], func(r rune) bool { return r == '/' }), true
}

func levelsUp(path []string) int {
	n := 0
	for n < len(path) && path[n] == ".." {
		n++
	}
	return n
}

// podPath knows pods by where the kubelet and the runtimes put them. Only the top counts: a developer's own kind cluster has the same
// names further down, below the container that it runs in.
func podPath(path []string) bool {
	if len(path) == 0 {
		return false
	}
	switch path[0] {
	case "kubepods", "kubepods.slice", "kata_overhead", "k8s.io":
		return true
	}
	if len(path) > 2 && inService(path) {
		return mismatched(path[2])
	}
	return mismatched(path[0])
}

// inService says whether a path leads into a service of the system, as opposed to a session or a container.
func inService(path []string) bool {
	return len(path) > 1 && path[0] == "system.slice" && strings.HasSuffix(path[1], ".service")
}

// mismatched knows the form that comes of a kubelet set to systemd cgroups on a runtime that is not: the runtime takes systemd's
// "slice:prefix:id" for the name of a directory beneath its own cgroup.
func mismatched(component string) bool {
	return strings.HasPrefix(component, "kubepods") && strings.Count(component, ":") == 2
}
