package instance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/health"
)

// basisOf identifies Flux's report on a release: with another report, an earlier reading of its objects doesn't count.
func basisOf(release fluxObject) string {
	if release.absent() {
		return ""
	}
	text, err := json.Marshal([]any{release.GetUID(), release.GetGeneration(), release.Object["status"]})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// readings returns the last reading of the objects of an instance's release, or nil.
func (r *Reconciler) readings(
	instance *appsv1alpha1.ApplicationInstance, observed *Observed,
) map[health.Entry]health.Health {
	live := fluxObject{observed.child(kindHelmRelease, instance.Spec.Release.Name)}
	return r.Trees.Of(client.ObjectKeyFromObject(instance), instance.UID, basisOf(live))
}

// watchTree has the objects read that a plan wants to know about.
func (r *Reconciler) watchTree(instance *appsv1alpha1.ApplicationInstance, wanted *health.Wanted) {
	if key := client.ObjectKeyFromObject(instance); wanted != nil {
		r.Trees.Want(key, *wanted)
	} else {
		r.Trees.Forget(key)
	}
}

// tree records the health of the release's objects. Before Flux has reported on the release as it is desired, objects
// that are healthy say nothing about it.
func (p *planner) tree(release fluxObject, f fluxState) {
	status := &p.result.Status
	if f.pending() || f.outdated() || len(status.Inventory) == 0 {
		return
	}
	wanted := &health.Wanted{UID: p.instance.UID, Basis: basisOf(release)}
	wanted.Entries = append(wanted.Entries, status.Inventory...)
	p.result.Tree = wanted
	if p.observed.Health == nil {
		return
	}
	var states []appsv1alpha1.Health
	for i, entry := range status.Inventory {
		is, known := p.observed.Health[entry]
		if !known {
			is = health.Health{State: appsv1alpha1.HealthUnknown, Message: "it has not been read yet"}
		}
		status.Inventory[i].Health = is.State
		if is.State != appsv1alpha1.HealthHealthy {
			status.Inventory[i].Message = is.Message
		}
		states = append(states, is.State)
	}
	if f.said("Reconciling").Status == metav1.ConditionTrue {
		states = append(states, appsv1alpha1.HealthProgressing)
	}
	if int(status.InventoryCount) > len(status.Inventory) {
		states = append(states, appsv1alpha1.HealthUnknown)
	}
	status.Health = health.Worst(states...)
}

// keepHealth keeps the stored health until the objects are read, if nothing else of the status has changed: as after a
// restart of the operator. A health that was read before a change goes.
func (p *planner) keepHealth() {
	if p.result.Tree == nil || p.observed.Health != nil {
		return
	}
	if changed(withoutHealth(p.instance.Status), p.result.Status) {
		return
	}
	stored := p.instance.Status.DeepCopy()
	p.result.Status.Inventory, p.result.Status.Health = stored.Inventory, stored.Health
	p.result.Tree.Known = stored.Health != ""
}

// withoutHealth returns a copy of a status that says nothing about health.
func withoutHealth(status appsv1alpha1.ApplicationInstanceStatus) appsv1alpha1.ApplicationInstanceStatus {
	bare := *status.DeepCopy()
	bare.Health = ""
	for i := range bare.Inventory {
		bare.Inventory[i].Health, bare.Inventory[i].Message = "", ""
	}
	return bare
}
