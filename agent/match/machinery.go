package match

import "strings"

// machinery says whether a process belongs to what makes the host a node: k0s, the kubelet, the container runtime, its shims, and
// what they start. Their arguments repeat node labels, image and container names, so that a substring meant for the owner's programs
// finds them, and the node would leave because it is a node.
func (v Vantage) machinery(comm string, lines []string) bool {
	if machineryName(comm) {
		return true
	}
	for _, line := range lines {
		if path, _ := v.absolute(line); inService(path) && machineryService(path[1]) {
			return true
		}
	}
	return false
}

// machineryName compares with names as the kernel shows them, 15 bytes at most: every version of the shim is "containerd-shim".
func machineryName(comm string) bool {
	switch comm {
	case "k0s", "kubelet", "containerd", "containerd-shim", "crio", "conmon", "runc", "crun":
		return true
	}
	// The stages of a starting container: runc:[0:PARENT], runc:[1:CHILD], runc:[2:INIT].
	return strings.HasPrefix(comm, "runc:[")
}

func machineryService(unit string) bool {
	switch unit {
	case "k0sworker.service", "k0scontroller.service", "kubelet.service", "containerd.service", "crio.service":
		return true
	}
	return false
}
