//go:build simulate

package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// patchedInterval is set with kubectl. No one declares it.
const patchedInterval = "33m0s"

// takeFieldsOver applies an application as it is declared, and takes over the fields that were set with kubectl.
func takeFieldsOver(w *World, random *rand.Rand) {
	ref := pick(random, applications)
	object, ok := w.plane.object(ref)
	if !ok {
		return
	}
	annotations := maps.Clone(object.Metadata.Annotations)
	w.names++
	annotations[identity.AnnotationTakeOver] = fmt.Sprintf("%s,once-%d", person, w.names)
	w.storyf("%s takes fields over", ref)
	w.applies(ref, annotations, string(object.Spec))
}

// patchRelease changes the interval of a HelmRelease in the cluster.
func patchRelease(w *World, random *rand.Rand) {
	if all := w.cluster.List(cluster.HelmRelease); len(all) > 0 {
		live := pick(random, all)
		w.storyf("HelmRelease %s/%s is patched in the cluster", live.GetNamespace(), live.GetName())
		w.patch(cluster.HelmRelease, live.GetNamespace(), live.GetName(), map[string]any{
			"spec": map[string]any{"interval": patchedInterval},
		})
	}
}

// createRelease installs an application with Flux alone, before Tend has it.
func createRelease(w *World, random *rand.Rand) {
	ref := pick(random, applications)
	if w.cluster.Get(cluster.HelmRelease, ref.Scope, ref.Name) != nil {
		return
	}
	w.stamps++
	w.storyf("HelmRelease %s/%s is created in the cluster, stamp %d", ref.Scope, ref.Name, w.stamps)
	w.create(cluster.OCIRepository, ref.Scope, legacy+ref.Name, map[string]any{"spec": map[string]any{
		"interval": patchedInterval, "url": "oci://registry.example.org/charts/web", "ref": map[string]any{"tag": "1.0.0"},
	}})
	w.create(cluster.HelmRelease, ref.Scope, ref.Name, map[string]any{"spec": map[string]any{
		"interval": patchedInterval, "chartRef": map[string]any{"kind": "OCIRepository", "name": legacy + ref.Name},
		"values": map[string]any{"stamp": w.stamps},
	}})
}

// legacy begins the name of a source that a person created.
const legacy = "legacy-"

// isOwned reports whether an object belongs to another one.
func isOwned(live *unstructured.Unstructured) bool { return len(live.GetOwnerReferences()) > 0 }

// byOperator reports whether the operator made a change.
func byOperator(c cluster.Change) bool { return c.By == identity.FieldManager || c.By == "operator" }

// takenOver notes whether an instance lets the operator take fields over.
func (o *oracle) takenOver(c cluster.Change) {
	for _, live := range []*unstructured.Unstructured{c.Before, c.After} {
		if live != nil && strings.HasPrefix(live.GetAnnotations()[identity.AnnotationTakeOver], person+",") {
			o.takeOvers[live.GetNamespace()+"/"+live.GetName()] = time.Now()
		}
	}
}

// overwritten: the operator doesn't change the interval that a person gave a HelmRelease, unless it may take it over.
func (o *oracle) overwritten(c cluster.Change) {
	if c.Before == nil || c.After == nil {
		return
	}
	at := c.After.GetNamespace() + "/" + c.After.GetName()
	if since, is := o.takeOvers[at]; is && time.Since(since) < 2*maxLate {
		return
	}
	was, now := text(c.Before, "spec", "interval"), text(c.After, "spec", "interval")
	if was == patchedInterval && now != was {
		o.w.fail("HelmRelease %s has the interval %s of a person, and the operator sets it to %s", at, was, now)
	}
}

// deleted: the operator deletes no HelmRelease of others.
func (o *oracle) deleted(c cluster.Change) {
	ends := c.After == nil || c.After.GetDeletionTimestamp() != nil
	if byOperator(c) && ends && c.Before != nil && c.Before.GetDeletionTimestamp() == nil && !isOwned(c.Before) {
		o.w.fail("%s %s/%s of others is deleted", c.Before.GetKind(), c.Before.GetNamespace(), c.Before.GetName())
	}
}
