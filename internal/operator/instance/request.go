package instance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/window"
)

// Request asks Flux to reconcile objects now.
type Request struct {
	// Objects are the live objects.
	Objects []*unstructured.Unstructured
	// Annotations make the request.
	Annotations map[string]string
	// Changed is the Observed.ValuesChanged that the request is about, or empty.
	Changed string
}

// request passes a reconcile request on to Flux, once for each value: Flux fetches the source, reconciles the release
// and resets its failure count. The request waits for pending changes and for the maintenance window.
func (p *planner) request(children []*unstructured.Unstructured) {
	at := p.instance.Annotations[identity.AnnotationRequestedAt]
	if p.held != "" || len(p.result.Apply) > 0 {
		return
	}
	if at == "" || at == p.result.Status.LastHandledReconcileAt {
		p.readValues(children[1])
		return
	}
	p.result.Status.LastHandledReconcileAt = at
	p.result.Request.Annotations = map[string]string{identity.AnnotationRequestedAt: at, identity.AnnotationResetAt: at}
	if p.instance.Annotations[identity.AnnotationForceAt] == at {
		p.result.Request.Annotations[identity.AnnotationForceAt] = at
	}
	for _, child := range children {
		live := p.observed.child(child.GroupVersionKind(), child.GetName())
		if live != nil && live.GetDeletionTimestamp() == nil {
			p.result.Request.Objects = append(p.result.Request.Objects, live)
		}
	}
}

// readValues has Flux read a release's values again after a change of them. Outside of the maintenance window it is
// left to Flux when it does.
func (p *planner) readValues(release *unstructured.Unstructured) {
	declared, err := window.Of(p.instance.Annotations)
	live := p.observed.child(kindHelmRelease, release.GetName())
	if p.observed.ValuesChanged == "" || err != nil || !declared.Opens(p.now).IsZero() || live == nil ||
		live.GetDeletionTimestamp() != nil {
		return
	}
	p.result.Request = Request{
		Objects: []*unstructured.Unstructured{live}, Changed: p.observed.ValuesChanged,
		Annotations: map[string]string{identity.AnnotationRequestedAt: p.observed.ValuesChanged},
	}
}

// ask patches the annotations of a request. People request reconciles from Flux in the same way, and an apply would
// make the operator the owner of the annotations.
func (r *Reconciler) ask(ctx context.Context, request Request) error {
	for _, live := range request.Objects {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": live.GetUID(), "annotations": request.Annotations}})
		if err != nil {
			return err
		}
		if err := r.Client.Patch(
			ctx, live.DeepCopy(), client.RawPatch(types.MergePatchType, patch), owner,
		); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("request a reconcile of %s %s: %w", live.GetKind(), live.GetName(), err)
		}
	}
	return nil
}

// takeOver plans to take fields over from the managers that the annotation names, once for each value. Fields that they
// have changed since the last apply are applied again.
func (p *planner) takeOver(children []*unstructured.Unstructured) {
	asked := p.instance.Annotations[identity.AnnotationTakeOver]
	if asked == "" || asked == p.result.Status.LastHandledTakeOver {
		return
	}
	p.result.TakeOver = apply.Managers(asked)
	for _, child := range children {
		live := p.observed.child(child.GroupVersionKind(), child.GetName())
		if live != nil && live.GetDeletionTimestamp() == nil && !p.isOutstanding(child) &&
			len(apply.Differences(child.Object, live.Object)) > 0 {
			p.result.Apply = append(p.result.Apply, child)
		}
	}
}

// tookOver records that the annotation was acted on, so that it is ignored until its value changes.
func (p *planner) tookOver() {
	if asked := p.instance.Annotations[identity.AnnotationTakeOver]; asked == "" || p.held == "" && len(p.result.Apply) == 0 {
		p.result.Status.LastHandledTakeOver = asked
	}
}

// refusals returns which fields others own, and the ways to resolve that.
func (p *planner) refusals(all []Refusal) string {
	var parts, ways []string
	var managers []apply.Conflict
	for _, refused := range all {
		for _, c := range refused.Conflicts {
			parts = append(parts, fmt.Sprintf("%s of %s %s is set by %s", c.Field, refused.Kind, refused.Name, c.Manager))
		}
		managers = append(managers, refused.Conflicts...)
		if refused.GiveUp != "" {
			ways = append(ways, refused.GiveUp)
		}
	}
	text := fmt.Sprintf("%s. To let the operator take these fields over: kubectl annotate appinst %s -n %s --overwrite %s=%s",
		strings.Join(parts, "; "), p.instance.Name, p.instance.Namespace,
		identity.AnnotationTakeOver, strings.Join(apply.ManagersOf(managers), ","))
	if len(ways) > 0 {
		text += ". To give them up: " + strings.Join(ways, " && ")
	}
	return text + ". Or set the same value in the spec"
}

// giveUp returns the command with which managers give up an object's conflicting fields; empty if it can't be
// determined. The cache doesn't have the fields' owners.
func (r *Reconciler) giveUp(ctx context.Context, wanted *unstructured.Unstructured, conflicts []apply.Conflict) string {
	live := object(wanted.GroupVersionKind(), "", "")
	if r.Live == nil || r.Live.Get(ctx, client.ObjectKeyFromObject(wanted), live) != nil {
		return ""
	}
	return apply.GiveUp(live, apply.ManagersOf(conflicts))
}

// owns reports whether an object is the instance's own.
func (p *planner) owns(live *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOf(live)
	return owner != nil && owner.UID == p.instance.UID
}
