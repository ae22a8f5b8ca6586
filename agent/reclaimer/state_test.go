package reclaimer

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/config"
	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/agent/watch"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

var (
	javaConfig  = config.Snapshot{Config: reclaim.Config{MatchCommands: []string{"java"}, PollIntervalMS: 250}, Present: true}
	emptyConfig = config.Snapshot{Config: reclaim.Config{PollIntervalMS: 250}, Present: true}
)

func TestCasesOfTheState(t *testing.T) {
	requested := map[string]string{reclaim.AnnotationRequested: "true", reclaim.AnnotationReason: "process-match: idea"}
	present := node.View{Standing: node.Present, Node: node.Node{UID: "1"}}
	with := func(s node.Standing, annotations map[string]string) node.View {
		return node.View{Standing: s, Node: node.Node{UID: "1", Annotations: annotations}, Detail: "detail"}
	}
	for name, tt := range map[string]struct {
		facts facts
		want  State
		why   string
	}{
		"something to match":                   {facts{config: javaConfig, view: present}, Armed, ""},
		"the API server not heard of yet":      {facts{config: javaConfig}, Armed, ""},
		"the API server away":                  {facts{config: javaConfig, view: with(node.Away, nil)}, Armed, ""},
		"empty lists":                          {facts{config: emptyConfig, view: present}, Inert, "both lists of the configuration are empty"},
		"no file":                              {facts{view: present}, Inert, "there is no configuration file"},
		"never a good file":                    {facts{config: config.Snapshot{Fault: errors.New("x")}, view: present}, Inert, "there has been no good configuration yet"},
		"a match":                              {facts{config: javaConfig, view: present, pending: true}, Requesting, ""},
		"a match outlives its entry":           {facts{config: emptyConfig, view: present, pending: true}, Requesting, ""},
		"a request on the Node":                {facts{config: javaConfig, view: with(node.Present, requested)}, Requested, "process-match: idea"},
		"a request, and the API server away":   {facts{config: javaConfig, view: with(node.Away, requested)}, Requested, "process-match: idea"},
		"Case 39: a request set to false":      {facts{config: javaConfig, view: with(node.Present, map[string]string{reclaim.AnnotationRequested: "false"})}, Armed, ""},
		"Case 39: a reason without a request":  {facts{config: javaConfig, view: with(node.Present, map[string]string{reclaim.AnnotationReason: "x"})}, Armed, ""},
		"no such Node":                         {facts{config: javaConfig, view: with(node.Gone, nil), pending: true}, Standby, "detail"},
		"the Node is another machine":          {facts{config: javaConfig, view: with(node.Foreign, requested)}, Standby, "detail"},
		"no credential":                        {facts{config: javaConfig, view: with(node.NoCredential, nil), pending: true}, Standby, "detail"},
		"the label gone, with the installer":   {facts{config: javaConfig, view: with(node.Present, requested), optedOut: true}, Standby, "the Node's label 5spot.finos.org/reclaim-agent is gone"},
		"inert is not why a Node stays behind": {facts{config: emptyConfig, view: with(node.Gone, nil)}, Standby, "detail"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.facts.now = time.Date(2026, 4, 19, 21, 30, 0, 0, time.UTC)
			require.Equal(t, verdict{tt.want, tt.why, tt.want == Armed}, decide(tt.facts))
		})
	}
}

func TestAnAgentThatSeesNoProcessesIsNotCalledArmed(t *testing.T) {
	blind := facts{config: javaConfig, rung: watch.Rung{Name: watch.RungBlind, Why: "hidepid"}}
	require.Equal(t, verdict{Standby, "hidepid", true}, decide(blind), "but it goes on looking")
	blind.config = emptyConfig
	require.Equal(t, Inert, decide(blind).State)
}
