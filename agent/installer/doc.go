// Package installer keeps a host equal to what its Node asks for: with the label, the agent's binary, unit and configuration are there
// and systemd runs it; without, they are gone. It decides and puts in order; how files, systemd and the API server are talked to is
// in its sub-packages.
//
// It runs as the one container of a DaemonSet, without privileges, and reaches the host through mounts alone. What the pod has to
// provide:
//
//	command       5spot-reclaim-agent sync                 (as root, every capability dropped, read-only root file system)
//	readiness     exec: 5spot-reclaim-agent sync --ready   (exit 0, or 1 and one sentence that says what is missing)
//	environment   NODE_NAME        spec.nodeName
//	              POD_NAMESPACE    metadata.namespace, where the DaemonSet is
//	              DAEMONSET_NAME   default 5spot-reclaim-agent
//	mounts        each at the host's own path, read-write unless said otherwise:
//	              /usr/local/bin, /etc/systemd/system, /etc/5spot, /var/lib/5spot-reclaim-agent,
//	              /run/systemd (the directory: systemd replaces its socket), /etc/machine-id (read-only);
//	              and a volume of its own, an emptyDir, at /run/5spot-installer
//	API           its ServiceAccount's token, mounted as usual, with
//	              nodes             get, watch   (cluster-wide: RBAC cannot say "its own")
//	              apps/daemonsets   get, watch   in POD_NAMESPACE; may be narrowed to DAEMONSET_NAME
//	              configmaps        get, watch   in 5spot-system
//	              events (core)     create       in default, where events about Nodes are kept
//
// Readiness goes through the file /run/5spot-installer/ready, which the installer renews in every round: a pod in the host's
// network needs no port that way. /etc/5spot and /var/lib/5spot-reclaim-agent are made by the mount (DirectoryOrCreate) and stay,
// empty, when the agent is removed. On SIGTERM the installer looks once more whether the agent is to go, which takes up to six
// seconds when the Node is gone, and a removal some seconds more: terminationGracePeriodSeconds 30.
package installer
