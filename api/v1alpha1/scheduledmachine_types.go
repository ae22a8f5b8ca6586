package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Keys that the controller puts on, or reads from, objects of the management cluster.
const (
	// Finalizer keeps a ScheduledMachine until its Machine has left the cluster.
	Finalizer = "5spot.finos.org/scheduledmachine"
	// ScheduledMachineLabel is on the Machine, bootstrap and infrastructure objects; its value is the ScheduledMachine's name.
	ScheduledMachineLabel = "5spot.finos.org/scheduled-machine"
	// OwnerUIDAnnotation is on the same objects; its value is the ScheduledMachine's UID. An object without it is never adopted.
	OwnerUIDAnnotation = "5spot.finos.org/scheduled-machine-uid"
	// TemplateHashAnnotation is on the bootstrap and infrastructure objects; its value is a hash of what spec.bootstrapSpec or
	// spec.infrastructureSpec said when they were made. Where it says something else by now, and there is no Machine yet, they are made anew. An
	// object without it stays as it is.
	TemplateHashAnnotation = "5spot.finos.org/template-hash"
	// SystemHostnameAnnotation is on the Machine; it says whether the host was told to keep its name for its Node when the Machine was made
	// ("true" or "false"). What the spec says by now counts for the next Machine.
	SystemHostnameAnnotation = "5spot.finos.org/system-hostname"
	// ReleaseAnnotation on a ScheduledMachine ends the hold after a reclaim when its value is status.reclaim.id.
	ReleaseAnnotation = "5spot.finos.org/release"
)

// ScheduledMachine lends a physical machine to a child cluster while its schedule says so.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sm
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.nodeRef.name`
// +kubebuilder:printcolumn:name="Scheduled",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].status`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextActivation`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name: at most 63 characters, because the Machine and its Node carry the same name, for example ws-1"
type ScheduledMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the owner and the platform want.
	// +required
	Spec ScheduledMachineSpec `json:"spec"`
	// status is what the controller made of it.
	// +optional
	Status ScheduledMachineStatus `json:"status,omitempty"`
}

// ScheduledMachineList is a list of ScheduledMachines.
//
// +kubebuilder:object:root=true
type ScheduledMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ScheduledMachine `json:"items"`
}

// ScheduledMachineSpec says which machine is lent, to which cluster, and when.
type ScheduledMachineSpec struct {
	// schedule says when the machine belongs to the cluster.
	// +required
	Schedule Schedule `json:"schedule"`

	// clusterName is the CAPI Cluster, in this namespace, that the machine joins. Its kubeconfig is read from the
	// Secret <clusterName>-kubeconfig of this namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9._-]*$')",message="spec.clusterName: letters, digits, '-', '.' and '_', starting with a letter or digit, for example team-a"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.clusterName: cannot be changed, because the machine would be left behind in the old cluster; create another ScheduledMachine"
	ClusterName string `json:"clusterName"`

	// bootstrapSpec is the bootstrap object to create, for example a K0sWorkerConfig.
	// +required
	BootstrapSpec ObjectTemplate `json:"bootstrapSpec"`

	// infrastructureSpec is the infrastructure object to create, for example a RemoteMachine.
	// +required
	InfrastructureSpec ObjectTemplate `json:"infrastructureSpec"`

	// machineTemplate adds to the CAPI Machine.
	// +optional
	MachineTemplate *MachineTemplate `json:"machineTemplate,omitempty"`

	// priority orders machines that are due at the same moment: higher first. 0 to 100. A pointer, because 0 is not the default.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Priority *int32 `json:"priority,omitempty"`

	// gracefulShutdownTimeout is the time between the end of the schedule and the start of the drain, as one number with
	// unit s, m or h, at most 24h. When the schedule begins again meanwhile, the machine stays. Not read on an emergency.
	// +optional
	// +kubebuilder:default="5m"
	GracefulShutdownTimeout Timeout `json:"gracefulShutdownTimeout,omitempty"`

	// nodeDrainTimeout bounds the drain at the end of the schedule, as one number with unit s, m or h, at most 24h. What
	// PodDisruptionBudgets still hold then goes with the machine. 0s: no bound, except ten minutes while the child cluster cannot be
	// reached. Not read on an emergency.
	// +optional
	// +kubebuilder:default="5m"
	NodeDrainTimeout Timeout `json:"nodeDrainTimeout,omitempty"`

	// killSwitch removes the machine at once, without drain, and keeps it out until false.
	// +optional
	// +kubebuilder:default=false
	KillSwitch bool `json:"killSwitch"`

	// nodeTaints are put on the Node when it is Ready.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	NodeTaints []NodeTaint `json:"nodeTaints,omitempty"`

	// killIfCommands names the programs whose start takes the machine out of the cluster at once. Each entry is compared with the
	// command name of a process and searched for in its arguments. Absent or empty: no agent is installed, and requests
	// from the Node are not acted on.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:XValidation:rule="!self.contains('\\n') && !self.contains('\\u0000')",message="spec.killIfCommands: an entry is one line without NUL, for example java"
	// +kubebuilder:validation:items:XValidation:rule="self.matches('[^ ]') && (size(self) >= 3 || !self.matches('[ /]'))",message="spec.killIfCommands: an entry with '/' or a space is searched for in every process's arguments and needs at least 3 characters, for example /opt/idea/"
	// +listType=atomic
	KillIfCommands []string `json:"killIfCommands,omitzero"`

	// afterReclaim says how the machine is kept out after an emergency. DisableSchedule sets spec.schedule.enabled to false.
	// Hold leaves the spec alone, for specs kept in Git, and waits for the annotation 5spot.finos.org/release.
	// +optional
	// +kubebuilder:default=DisableSchedule
	AfterReclaim AfterReclaim `json:"afterReclaim,omitempty"`
}

// AfterReclaim is what follows an emergency removal.
// +kubebuilder:validation:Enum=DisableSchedule;Hold
type AfterReclaim string

// Values of spec.afterReclaim.
const (
	// DisableSchedule sets spec.schedule.enabled to false; setting it back to true releases the machine.
	DisableSchedule AfterReclaim = "DisableSchedule"
	// Hold leaves the spec alone; the annotation 5spot.finos.org/release releases the machine.
	Hold AfterReclaim = "Hold"
)

// Timeout is a whole number with a unit, s, m or h; 24h at most.
// +kubebuilder:validation:MaxLength=8
// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,5}[smh]$') && duration(self) <= duration('24h')",message="a timeout is a whole number with unit s, m or h, at most 24h, for example 5m"
type Timeout string

// Schedule says when a machine belongs to the cluster: days and hours, or cron.
// +kubebuilder:validation:XValidation:rule="!has(self.cron) || ((!has(self.daysOfWeek) || size(self.daysOfWeek) == 0) && (!has(self.hoursOfDay) || size(self.hoursOfDay) == 0))",message="spec.schedule: cron excludes daysOfWeek and hoursOfDay; keep one form, for example cron: '* 9-17 * * 1-5'"
// +kubebuilder:validation:XValidation:rule="has(self.cron) || (has(self.daysOfWeek) && has(self.hoursOfDay) && size(self.daysOfWeek) > 0 && size(self.hoursOfDay) > 0)",message="spec.schedule: give daysOfWeek and hoursOfDay, for example daysOfWeek: [mon-fri], hoursOfDay: ['9-17'], or cron"
type Schedule struct {
	// daysOfWeek lists days (mon), ranges (mon-fri, fri-mon wraps), or both separated by commas.
	// +optional
	// +kubebuilder:validation:MaxItems=7
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule="self.lowerAscii().matches('^ *(mon|tue|wed|thu|fri|sat|sun)( *- *(mon|tue|wed|thu|fri|sat|sun))?( *, *(mon|tue|wed|thu|fri|sat|sun)( *- *(mon|tue|wed|thu|fri|sat|sun))?)* *$')",message="spec.schedule.daysOfWeek: days and ranges of days, for example mon-fri or sat,sun"
	// +listType=atomic
	DaysOfWeek []string `json:"daysOfWeek,omitempty"`

	// hoursOfDay lists hours (9), ranges (9-17 ends at 18:00, 22-6 wraps), or both separated by commas.
	// +optional
	// +kubebuilder:validation:MaxItems=24
	// +kubebuilder:validation:items:MaxLength=96
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^ *([01]?[0-9]|2[0-3])( *- *([01]?[0-9]|2[0-3]))?( *, *([01]?[0-9]|2[0-3])( *- *([01]?[0-9]|2[0-3]))?)* *$')",message="spec.schedule.hoursOfDay: hours 0 to 23 and ranges, for example 9-17 or 22-6"
	// +listType=atomic
	HoursOfDay []string `json:"hoursOfDay,omitempty"`

	// cron has five fields; the machine is active in every minute that matches. Excludes daysOfWeek and hoursOfDay.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[ \\\\t]*[0-9A-Za-z*,/?-]+([ \\\\t]+[0-9A-Za-z*,/?-]+){4}[ \\\\t]*$')",message="spec.schedule.cron: five fields, minute, hour, day of month, month and day of week, for example '* 9-17 * * 1-5'"
	Cron string `json:"cron,omitempty"`

	// timezone is an IANA name.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Timezone string `json:"timezone,omitempty"`

	// enabled false takes the machine out, gracefully, and keeps it out.
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`
}

// ObjectTemplate is a provider's object to create.
type ObjectTemplate struct {
	// apiVersion of the object, for example bootstrap.cluster.x-k8s.io/v1beta1.
	// +required
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^(bootstrap\\\\.cluster\\\\.x-k8s\\\\.io|infrastructure\\\\.cluster\\\\.x-k8s\\\\.io|k0smotron\\\\.io)/v[a-z0-9]+$')",message="apiVersion: the group must be bootstrap.cluster.x-k8s.io, infrastructure.cluster.x-k8s.io or k0smotron.io, for example infrastructure.cluster.x-k8s.io/v1beta1"
	APIVersion string `json:"apiVersion"`
	// kind of the object, for example K0sWorkerConfig.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Z][A-Za-z0-9]*$')",message="kind: CamelCase, for example K0sWorkerConfig"
	Kind string `json:"kind"`
	// spec of the object, passed on unchanged.
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Spec runtime.RawExtension `json:"spec"`
}

// MachineTemplate adds to the CAPI Machine.
type MachineTemplate struct {
	// labels for the Machine, for example node-role.kubernetes.io/worker. CAPI copies those of node-role.kubernetes.io and
	// node.cluster.x-k8s.io to the Node.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, (!k.matches('^([A-Za-z0-9-]+\\\\.)*cluster\\\\.x-k8s\\\\.io') || k.startsWith('node.cluster.x-k8s.io/')) && k != '5spot.finos.org/scheduled-machine')",message="spec.machineTemplate.labels: keys of cluster.x-k8s.io and 5spot.finos.org/scheduled-machine are set by CAPI and the controller; use a key of your own, for example example.org/team, or node.cluster.x-k8s.io/team to have CAPI put it on the Node"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && size(self[k]) <= 63)",message="spec.machineTemplate.labels: a key is an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' and '.'; a value is at most 63 of these, for example example.org/team: a"
	Labels map[string]string `json:"labels,omitempty"`
	// annotations for the Machine.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^([A-Za-z0-9-]+\\\\.)*cluster\\\\.x-k8s\\\\.io') && k != '5spot.finos.org/scheduled-machine-uid')",message="spec.machineTemplate.annotations: keys of cluster.x-k8s.io and 5spot.finos.org/scheduled-machine-uid are set by CAPI and the controller; use a key of your own, for example example.org/team"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^([A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?([.][A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="spec.machineTemplate.annotations: a key is an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' and '.', for example example.org/team"
	Annotations map[string]string `json:"annotations,omitempty"`
	// version is the Kubernetes version of the Machine; kubeadm-style bootstrap providers need it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
}

// NodeTaint is a taint that the controller keeps on the Node.
type NodeTaint struct {
	// key of the taint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && self.indexOf('/') <= 253",message="spec.nodeTaints.key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' and '.', for example example.org/workload"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(5spot\\\\.finos\\\\.org|kubernetes\\\\.io|node\\\\.kubernetes\\\\.io|node-role\\\\.kubernetes\\\\.io)/')",message="spec.nodeTaints.key: the prefixes 5spot.finos.org/, kubernetes.io/, node.kubernetes.io/ and node-role.kubernetes.io/ are reserved; use your own, for example workload"
	Key string `json:"key"`
	// value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",message="spec.nodeTaints.value: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit, for example batch"
	Value string `json:"value,omitempty"`
	// effect of the taint.
	// +required
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect"`
}
