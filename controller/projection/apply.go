package projection

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
)

// FieldManager is the name under which everything here is applied.
const FieldManager = client.FieldOwner("5spot-projection")

// carryOut does what was planned. again is true when something was no longer as it was seen: the same look again, soon, is no failure. A cluster
// that does not answer is not asked for the rest.
func (o *observed) carryOut(ctx context.Context, to *child.Connection, plan [][]action) (again bool, err error) {
	var errs []error
	for _, sequence := range plan {
		a, err := o.carryOutOne(ctx, to, sequence)
		switch {
		case err == nil:
			continue
		case child.Moved(err):
			again = true
			continue
		}
		err = fmt.Errorf("%s %s: %w", a.verb, a.node, err)
		o.failed[a.node] = err
		errs = append(errs, err)
		if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
			break
		}
	}
	return again, errors.Join(errs...)
}

// carryOutOne returns the action that failed.
func (o *observed) carryOutOne(ctx context.Context, to *child.Connection, sequence []action) (action, error) {
	for _, a := range sequence {
		if err := to.Do(ctx, func(ctx context.Context) error { return a.run(ctx, to.Client, o.mark) }); err != nil {
			return a, err
		}
	}
	return action{}, nil
}

func (a action) run(ctx context.Context, c client.Client, mark string) error {
	node := apply.Node(a.node).WithUID(a.uid)
	switch a.verb {
	case ensureNamespace:
		return a.applyNamespace(ctx, c)
	case applyConfig:
		return a.applyConfigMap(ctx, c, mark)
	case applyLabel:
		return c.Apply(ctx, node.
			WithLabels(map[string]string{reclaim.LabelAgent: reclaim.LabelAgentEnabled}).
			WithAnnotations(map[string]string{reclaim.LabelProjectedBy: mark}), FieldManager)
	case releaseLabel:
		return c.Apply(ctx, node.WithAnnotations(map[string]string{reclaim.LabelProjectedBy: mark}), FieldManager)
	case clearState:
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:null}}}`, a.uid, reclaim.AnnotationAgentState)
		return c.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: a.node}}, client.RawPatch(types.MergePatchType, patch), FieldManager)
	case releaseNode:
		return c.Apply(ctx, node, FieldManager)
	case deleteConfig:
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: reclaim.Namespace, Name: reclaim.ConfigMapName(a.node)}}
		return client.IgnoreNotFound(c.Delete(ctx, configMap, client.Preconditions{UID: &a.uid}))
	}
	return fmt.Errorf("no such action: %s", a.verb)
}

func (a action) applyNamespace(ctx context.Context, c client.Client) error {
	namespace := apply.Namespace(reclaim.Namespace).WithLabels(map[string]string{reclaim.PodSecurityLabel: reclaim.PodSecurityLevel})
	if a.uid != "" {
		namespace.WithUID(a.uid)
	}
	return c.Apply(ctx, namespace, FieldManager)
}

// applyConfigMap insists: the name is ours, and who edited it by hand is overruled. One that cannot be applied onto, being immutable or full of
// something else, is replaced.
func (a action) applyConfigMap(ctx context.Context, c client.Client, mark string) error {
	err := a.applyConfigMapOnto(ctx, c, mark)
	if !apierrors.IsInvalid(err) || child.Moved(err) {
		return err
	}
	there := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: reclaim.Namespace, Name: reclaim.ConfigMapName(a.node)}, there); err != nil {
		return err
	}
	uid := there.UID
	if err := c.Delete(ctx, there, client.Preconditions{UID: &uid}); err != nil {
		return err
	}
	a.uid = ""
	return a.applyConfigMapOnto(ctx, c, mark)
}

func (a action) applyConfigMapOnto(ctx context.Context, c client.Client, mark string) error {
	configMap := apply.ConfigMap(reclaim.ConfigMapName(a.node), reclaim.Namespace).
		WithLabels(map[string]string{reclaim.LabelProjectedBy: mark, v1alpha1.ScheduledMachineLabel: a.machine}).
		WithData(map[string]string{reclaim.ConfigKey: a.text})
	if a.uid != "" {
		configMap.WithUID(a.uid)
	}
	return c.Apply(ctx, configMap, FieldManager, client.ForceOwnership)
}
