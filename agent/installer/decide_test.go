package installer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/installer/cluster"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

var now = time.Date(2026, 4, 19, 21, 30, 0, 0, time.UTC)

const (
	thisMachine = "3d1219c7c4c5404aaa1f6d2a48adfda4"
	otherID     = "00000000000000000000000000000000"
)

// node is the own Node as seen just now.
func node(change ...func(*cluster.Node)) cluster.Node {
	n := cluster.Node{Sight: cluster.There, At: now, UID: "uid-1", MachineID: thisMachine,
		Labels: map[string]string{reclaim.LabelAgent: reclaim.LabelAgentEnabled}}
	for _, c := range change {
		c(&n)
	}
	return n
}

func label(value string) func(*cluster.Node) {
	return func(n *cluster.Node) { n.Labels = map[string]string{reclaim.LabelAgent: value} }
}

func unlabelled(n *cluster.Node) { n.Labels = nil }

func seen(ago time.Duration) func(*cluster.Node) {
	return func(n *cluster.Node) { n.At = now.Add(-ago) }
}

// missed since some time ago, and asked for the last time lastAsked ago.
func missed(since, lastAsked time.Duration) cluster.Node {
	return cluster.Node{Sight: cluster.Absent, At: now.Add(-lastAsked), AbsentSince: now.Add(-since)}
}

func set(change ...func(*cluster.DaemonSet)) cluster.DaemonSet {
	d := cluster.DaemonSet{Sight: cluster.There, At: now, UID: "set-1",
		NodeSelector: map[string]string{reclaim.LabelAgent: reclaim.LabelAgentEnabled}}
	for _, c := range change {
		c(&d)
	}
	return d
}

func deleting(d *cluster.DaemonSet)  { d.Deleting = true }
func elsewhere(d *cluster.DaemonSet) { d.NodeSelector = map[string]string{"disk": "ssd"} }

func setSeen(ago time.Duration) func(*cluster.DaemonSet) {
	return func(d *cluster.DaemonSet) { d.At = now.Add(-ago) }
}

func record(nodeUID, machineID string) *Record {
	return &Record{Schema: recordSchema, Owner: Owner{NodeName: "ws-1", NodeUID: nodeUID, MachineID: machineID}}
}

func TestDecide(t *testing.T) {
	ours := record("uid-1", thisMachine)
	gone := cluster.DaemonSet{Sight: cluster.Absent, At: now}
	for name, tt := range map[string]struct {
		node   cluster.Node
		set    cluster.DaemonSet
		record *Record
		want   Answer
	}{
		"Node there, label enabled, DaemonSet there": {node(), set(), ours, Keep},
		"the same, nothing installed yet":            {node(), set(), nil, Keep},

		"label gone":                                    {node(unlabelled), set(), ours, Uninstall},
		"label gone, DaemonSet gone":                    {node(unlabelled), gone, ours, Uninstall},
		"label gone, nothing known of the DaemonSet":    {node(unlabelled), cluster.DaemonSet{}, ours, Uninstall},
		"label has another value":                       {node(label("disabled")), set(), ours, Uninstall},
		"label gone, nothing installed":                 {node(unlabelled), set(), nil, Uninstall},
		"label enabled, DaemonSet gone":                 {node(), gone, ours, Uninstall},
		"label enabled, DaemonSet being deleted":        {node(), set(deleting), ours, Uninstall},
		"label enabled, DaemonSet selects others":       {node(), set(elsewhere), ours, Uninstall},
		"Node missed once":                              {missed(0, 0), set(), ours, Wait},
		"Node missed twice, but in quick succession":    {missed(5*time.Second-1, 0), set(), ours, Wait},
		"Node missed once, some time ago, then no word": {missed(20*time.Second, 20*time.Second), set(), ours, Wait},
		"Node missed twice, 5 s apart":                  {missed(5*time.Second, 0), set(), ours, Uninstall},
		"Node missed twice, DaemonSet gone":             {missed(5*time.Second, 0), gone, ours, Uninstall},
		"Node missed twice, then no word for 59 s":      {missed(64*time.Second, 59*time.Second), set(), ours, Uninstall},
		"Node missed twice, then no word for a minute":  {missed(65*time.Second, 60*time.Second), set(), ours, Wait},

		"no word yet":                               {cluster.Node{}, cluster.DaemonSet{}, ours, Wait},
		"no word for 59 s, label was enabled":       {node(seen(59 * time.Second)), set(setSeen(59 * time.Second)), ours, Keep},
		"no word for 59 s, label was gone":          {node(unlabelled, seen(59*time.Second)), set(), ours, Uninstall},
		"no word for a minute, label was gone":      {node(unlabelled, seen(60*time.Second)), set(), ours, Wait},
		"no word of the DaemonSet for a minute":     {node(), set(setSeen(time.Minute)), ours, Wait},
		"no word of the DaemonSet, which was going": {node(), set(deleting, setSeen(59*time.Second)), ours, Uninstall},

		"Node has another machine id":                    {node(func(n *cluster.Node) { n.MachineID = otherID }), set(), ours, HandsOff},
		"Node has another machine id, label gone":        {node(unlabelled, func(n *cluster.Node) { n.MachineID = otherID }), gone, ours, HandsOff},
		"Node has not reported its machine id yet":       {node(func(n *cluster.Node) { n.MachineID = "" }), set(), nil, HandsOff},
		"record of another machine":                      {node(), set(), record("uid-1", otherID), HandsOff},
		"record of another machine, label gone":          {node(unlabelled), set(), record("uid-1", otherID), HandsOff},
		"record of another Node, label gone":             {node(unlabelled), set(), record("uid-0", thisMachine), HandsOff},
		"record of another Node, DaemonSet gone":         {node(), gone, record("uid-0", thisMachine), HandsOff},
		"record of an earlier Node, and the label is on": {node(), set(), record("uid-0", thisMachine), Keep},
	} {
		t.Run(name, func(t *testing.T) {
			v := Decide(Facts{Now: now, Node: tt.node, DaemonSet: tt.set, MachineID: thisMachine, Record: tt.record})
			require.Equal(t, tt.want, v.Answer, v.Why)
			require.Equal(t, tt.want == Keep, v.Why == "", "whatever is not kept is explained")
		})
	}
}

// Images are often shipped with an empty one: two machines without a name are not one machine.
func TestNoMachineIDIsNobodys(t *testing.T) {
	v := Decide(Facts{Now: now, Node: node(func(n *cluster.Node) { n.MachineID = "" }), DaemonSet: set()})
	require.Equal(t, HandsOff, v.Answer)
	require.Contains(t, v.Why, "systemd-machine-id-setup")
}

func TestAMissedNodeIsAskedForAgainAtTheRightMoment(t *testing.T) {
	v := Decide(Facts{Now: now, Node: missed(2*time.Second, 0), DaemonSet: set(), MachineID: thisMachine})
	require.Equal(t, 3*time.Second, v.Again)
}
