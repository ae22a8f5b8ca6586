package scheduledmachine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
)

// patches is an API server that takes patches, but not of one kind.
type patches struct {
	client.Client
	refuses string
	err     error
	taken   []string
	// machines are in the namespace.
	machines []unstructured.Unstructured
}

func (p *patches) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*unstructured.UnstructuredList).Items = p.machines
	return nil
}

func (p *patches) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	if kind == p.refuses {
		return p.err
	}
	p.taken = append(p.taken, kind)
	return nil
}

// inRust is a machine whose objects the earlier version in Rust made, and its bootstrap object.
func inRust(t *testing.T) (*scope, *unstructured.Unstructured) {
	t.Helper()
	s, bootstrap := wanting(t, `{}`)
	bootstrap.SetName("ws-1-bootstrap")
	require.NoError(t, unstructured.SetNestedField(s.machine.Object, "ws-1-bootstrap", "spec", "bootstrap", "configRef", "name"))
	for _, object := range []*unstructured.Unstructured{bootstrap, s.machine} {
		object.SetAnnotations(nil)
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "5spot.finos.org/v1alpha1", Kind: "ScheduledMachine", Name: "ws-1", UID: "sm-1", Controller: ptr.To(true),
		}})
	}
	return s, bootstrap
}

// What can be done without it is done: the steps that follow run, and the next look is not far.
func TestMachineThatCannotBeBroughtOverLivesOn(t *testing.T) {
	forbidden := apierrors.NewForbidden(configs, "ws-1", nil)
	conflict := apierrors.NewConflict(configs, "ws-1", nil)
	for name, tt := range map[string]struct {
		server patches
		taken  []string
		over   bool
		says   string
	}{
		"it can":                         {patches{}, []string{"K0sWorkerConfig", "Machine"}, true, ""},
		"bootstrap object not to be had": {patches{refuses: "K0sWorkerConfig", err: forbidden}, nil, false, "bringing over K0sWorkerConfig ws-1-bootstrap: "},
		"Machine not to be had":          {patches{refuses: "Machine", err: forbidden}, []string{"K0sWorkerConfig"}, false, "bringing over Machine ws-1: "},
		"changed meanwhile":              {patches{refuses: "Machine", err: conflict}, []string{"K0sWorkerConfig"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, bootstrap := inRust(t)
			require.NoError(t, (&Reconciler{Client: &tt.server, Live: holds{bootstrap}}).bringOver(t.Context(), s))
			s.setNotBroughtOver()
			require.Equal(t, tt.taken, tt.server.taken)
			require.Equal(t, !tt.over, metav1.GetControllerOf(s.machine) != nil)
			require.True(t, capi.OwnedBy(s.machine, s.sm))
			require.Equal(t, tt.over, s.wake == 0)
			condition := meta.FindStatusCondition(s.sm.Status.Conditions, v1alpha1.ConditionNotBroughtOver)
			require.Equal(t, tt.says != "", condition != nil)
			if condition != nil {
				require.Contains(t, condition.Message, tt.says)
			}
		})
	}
}

// Its host would join twice.
func TestNoSecondMachineIsMadeBesideOneOfAnotherName(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*unstructured.Unstructured)
		fault  bool
	}{
		"of the version in Rust":                      {func(u *unstructured.Unstructured) { u.SetName("ws-1-machine") }, true},
		"of the version in Rust, for another":         {func(u *unstructured.Unstructured) { u.SetName("ws-2"); u.SetOwnerReferences(aMachines()) }, false},
		"of our own name, which readMachine looks at": {func(*unstructured.Unstructured) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := inRust(t)
			tt.change(s.machine)
			err := (&Reconciler{Client: &patches{machines: []unstructured.Unstructured{*s.machine}}}).notElsewhere(t.Context(), s)
			if !tt.fault {
				require.NoError(t, err)
				return
			}
			s.fault = err
			require.Equal(t, v1alpha1.ReasonOtherName, s.faultReason())
			require.ErrorContains(t, err, "kubectl -n team-a delete machine ws-1-machine")
		})
	}
}
