// Package reclaim is the contract between whoever asks for a node's removal and the controller that carries it out: the
// keys, the request's form, and the configuration file that both watchers read. It must not know Kubernetes clients,
// processes or clusters; it imports nothing but a TOML library.
package reclaim

// Keys on a Node of the child cluster.
const (
	// AnnotationRequested makes a request when its value is exactly "true".
	AnnotationRequested = "5spot.finos.org/reclaim-requested"
	// AnnotationReason says why, for example "process-match: java". A node's own text: never trust it.
	AnnotationReason = "5spot.finos.org/reclaim-reason"
	// AnnotationRequestedAt is the time of the match, RFC 3339 in UTC.
	AnnotationRequestedAt = "5spot.finos.org/reclaim-requested-at"
	// AnnotationAgentState is the agent's AgentState as JSON.
	AnnotationAgentState = "5spot.finos.org/reclaim-agent-state"
	// LabelAgent selects the Nodes that get the agent when its value is LabelAgentEnabled.
	LabelAgent = "5spot.finos.org/reclaim-agent"
	// LabelAgentEnabled is the value of LabelAgent.
	LabelAgentEnabled = "enabled"
	// LabelProjectedBy says who put LabelAgent on a Node and who wrote a ConfigMap: a label of the ConfigMap, an annotation of the Node. Its
	// value stands for one management cluster and one of its child clusters. What carries another value, or none, is somebody else's.
	LabelProjectedBy = "5spot.finos.org/projected-by"
)

// PodSecurityLabel and PodSecurityLevel are what Namespace must carry for the agent's installer to be admitted: it reaches systemd of the host.
const (
	PodSecurityLabel = "pod-security.kubernetes.io/enforce"
	PodSecurityLevel = "privileged"
)

// Where a node's configuration is kept.
const (
	// Namespace of the ConfigMaps, on the child cluster.
	Namespace = "5spot-system"
	// ConfigKey is the key in the ConfigMap.
	ConfigKey = "reclaim.toml"
	// ConfigPath is the file on the host.
	ConfigPath = "/etc/5spot/reclaim.toml"
)

// ConfigMapName is the name of a node's ConfigMap in Namespace.
func ConfigMapName(nodeName string) string { return "reclaim-agent-" + nodeName }

// States of the agent.
const (
	// StateInert means that there is nothing to match.
	StateInert = "inert"
	// StateArmed means that a match makes a request.
	StateArmed = "armed"
	// StateRequesting means that there was a match, and the Node does not say so yet.
	StateRequesting = "requesting"
	// StateRequested means that the Node carries a request, whoever made it.
	StateRequested = "requested"
	// StateStandby means that there is no Node that this machine could or should give back, or no process can be seen.
	StateStandby = "standby"
)

// AgentState is what the agent says of itself on its Node.
type AgentState struct {
	// State is one of the constants above.
	State string `json:"state"`
	// Rung is how processes are seen, and why: "proc-connector" or "sweep (no ACK within 1s)".
	Rung string `json:"rung,omitempty"`
	// ConfigHash is Config.Hash of the configuration in force.
	ConfigHash string `json:"configHash,omitempty"`
	// Version of the agent.
	Version string `json:"version,omitempty"`
}
