package scheduledmachine

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
)

var configs = schema.GroupResource{Resource: "k0sworkerconfigs"}

// keeps is an API server with room for one object.
type keeps struct {
	client.Client
	object *unstructured.Unstructured
	// refuses every create, if it is not nil.
	refuses error
	// meanwhile happens after each read.
	meanwhile func(*unstructured.Unstructured)
}

func (k *keeps) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if k.object == nil {
		return apierrors.NewNotFound(configs, name.Name)
	}
	k.object.DeepCopyInto(into.(*unstructured.Unstructured))
	if k.meanwhile != nil {
		k.meanwhile(k.object)
	}
	return nil
}

func (k *keeps) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	switch {
	case k.refuses != nil:
		return k.refuses
	case k.object != nil:
		return apierrors.NewAlreadyExists(configs, object.GetName())
	}
	k.object = object.(*unstructured.Unstructured)
	k.object.SetUID("new")
	return nil
}

func (k *keeps) Delete(_ context.Context, _ client.Object, options ...client.DeleteOption) error {
	asked := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions
	if *asked.UID != k.object.GetUID() || *asked.ResourceVersion != k.object.GetResourceVersion() {
		return apierrors.NewConflict(configs, k.object.GetName(), nil)
	}
	if len(k.object.GetFinalizers()) > 0 {
		k.object.SetDeletionTimestamp(ptr.To(metav1.NewTime(dusk)))
		return nil
	}
	k.object = nil
	return nil
}

// wanting is a ScheduledMachine with a template.
func wanting(t *testing.T, spec string) (*scope, *unstructured.Unstructured) {
	t.Helper()
	s := shuttingDown(t, 0)
	s.sm.Spec.BootstrapSpec = v1alpha1.ObjectTemplate{
		APIVersion: "bootstrap.cluster.x-k8s.io/v1beta1", Kind: "K0sWorkerConfig", Spec: runtime.RawExtension{Raw: []byte(spec)},
	}
	object, err := capi.Bootstrap(s.sm)
	require.NoError(t, err)
	return s, object
}

func TestObjectIsMadeAnewWhenItsTemplateWasCorrected(t *testing.T) {
	for name, tt := range map[string]struct {
		wanted string
		there  func(*keeps, *unstructured.Unstructured)
		uid    string
		ready  bool
		fails  func(error) bool
	}{
		"corrected":      {`{"version":"2"}`, func(*keeps, *unstructured.Unstructured) {}, "new", true, nil},
		"the same":       {`{"version":"1"}`, func(*keeps, *unstructured.Unstructured) {}, "old", true, nil},
		"edited by hand": {`{"version":"1"}`, func(_ *keeps, u *unstructured.Unstructured) { u.Object["spec"] = map[string]any{} }, "old", true, nil},
		"without a hash, of an earlier version": {`{"version":"2"}`, func(_ *keeps, u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{v1alpha1.OwnerUIDAnnotation: "sm-1"})
		}, "old", true, nil},
		"of another": {`{"version":"2"}`, func(_ *keeps, u *unstructured.Unstructured) { u.SetAnnotations(nil) }, "old", false, func(err error) bool {
			return err != nil && !retry(err)
		}},
		"of a Machine that is gone": {`{"version":"1"}`, func(_ *keeps, u *unstructured.Unstructured) { u.SetOwnerReferences(aMachines()) }, "new", true, nil},
		"claimed by something else": {`{"version":"2"}`, func(_ *keeps, u *unstructured.Unstructured) {
			refs := aMachines()
			refs[0].Kind = "MachinePool"
			u.SetOwnerReferences(refs)
		}, "old", true, nil},
		"claimed by a Machine since it was read": {`{"version":"2"}`, func(k *keeps, _ *unstructured.Unstructured) {
			k.meanwhile = func(u *unstructured.Unstructured) { u.SetResourceVersion("8") }
		}, "old", false, apierrors.IsConflict},
		"on its way out": {`{"version":"2"}`, func(_ *keeps, u *unstructured.Unstructured) {
			u.SetDeletionTimestamp(ptr.To(metav1.NewTime(dusk)))
		}, "old", false, nil},
		"held by a finalizer": {`{"version":"2"}`, func(_ *keeps, u *unstructured.Unstructured) { u.SetFinalizers([]string{"example.org/x"}) }, "old", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, there := wanting(t, `{"version":"1"}`)
			there.SetUID("old")
			there.SetResourceVersion("7")
			server := &keeps{object: there}
			tt.there(server, there)
			s, object := wanting(t, tt.wanted)
			ready, err := (&Reconciler{Client: server, Live: server}).ensure(t.Context(), s, object)
			if tt.fails != nil {
				require.True(t, tt.fails(err), "%v", err)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, tt.ready, ready)
			require.EqualValues(t, tt.uid, server.object.GetUID())
		})
	}
}

func aMachines() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "ws-1", UID: "m-1", Controller: ptr.To(true)}}
}

// A webhook chooses the code of its refusal. Whatever it is, a person has to read it.
func TestRefusalIsAFault(t *testing.T) {
	webhook := func(code int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: code, Message: `admission webhook "no.example.org" denied the request: not today`,
		}}
	}
	for name, tt := range map[string]struct {
		err   error
		fault bool
	}{
		"invalid":              {apierrors.NewInvalid(schema.GroupKind{Kind: "K0sWorkerConfig"}, "ws-1", nil), true},
		"forbidden":            {apierrors.NewForbidden(configs, "ws-1", nil), true},
		"malformed":            {apierrors.NewBadRequest("strict decoding error"), true},
		"denied with code 403": {webhook(http.StatusForbidden), true},
		"denied with code 400": {webhook(http.StatusBadRequest), true},
		"webhook out of reach": {apierrors.NewInternalError(context.DeadlineExceeded), false},
		"too many":             {apierrors.NewTooManyRequests("later", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			s, object := wanting(t, `{}`)
			_, err := (&Reconciler{Client: &keeps{refuses: tt.err}}).ensure(t.Context(), s, object)
			require.ErrorContains(t, err, tt.err.Error())
			require.Equal(t, tt.fault, !retry(err))
			if s.fault = err; tt.fault {
				require.Equal(t, v1alpha1.ReasonRefused, s.faultReason())
			}
		})
	}
}
