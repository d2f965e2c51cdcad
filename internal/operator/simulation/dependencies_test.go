//go:build simulate

package simulation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// dependent waits for another application, in some of its specs.
var dependent = api.Ref{Kind: api.KindApplicationInstance, Scope: "prod", Name: "shop"}

// dependencies are those of a HelmRelease, or of an instance. Nil has none.
func dependencies(live *unstructured.Unstructured) (names []string) {
	if live == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(live.Object, "spec", "dependsOn")
	for _, one := range list {
		values, _ := one.(map[string]any)
		names = append(names, fmt.Sprint(values["name"]))
	}
	return names
}

// waits records what the spec with a stamp depends on.
func (w *World) waits(stamp int64, on []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dependsOn[stamp] = on
}

// dependency: a HelmRelease is never written without what its spec depends on.
func (o *oracle) dependency(live *unstructured.Unstructured) {
	o.w.mu.Lock()
	want, declared := o.w.dependsOn[number(live, "spec", "values", "stamp")]
	o.w.mu.Unlock()
	if has := dependencies(live); declared && !slices.Equal(has, want) {
		o.w.fail("HelmRelease %s/%s depends on %q, its spec on %q", live.GetNamespace(), live.GetName(), has, want)
	}
}

// isReady reports whether a HelmRelease is ready, as Flux demands of a dependency.
func isReady(live *unstructured.Unstructured) bool {
	return live != nil && number(live, "status", "observedGeneration") == live.GetGeneration() &&
		conditionOf(live, "Ready").status == "True"
}

// awaits returns the first dependency of a HelmRelease that isn't ready, or nothing.
func (w *World) awaits(live *unstructured.Unstructured) string {
	for _, name := range dependencies(live) {
		if !isReady(w.cluster.Get(cluster.HelmRelease, live.GetNamespace(), name)) {
			return name
		}
	}
	return ""
}

// lacks returns the first dependency of an instance that is not in the cluster, or nothing.
func (w *World) lacks(live *unstructured.Unstructured) string {
	for _, name := range dependencies(live) {
		if w.cluster.Get(cluster.Instance, live.GetNamespace(), name) == nil {
			return name
		}
	}
	return ""
}

// await reports, once for a generation, that a release waits for a dependency. It isn't in the recording: the
// conditions are those that helm-controller sets before it looks at the source. The installed release stays.
func (f *flux) await(live *unstructured.Unstructured, p *play, on string) bool {
	key := fmt.Sprint(live.GetGeneration(), on)
	if p.awaited == key {
		return false
	}
	status, _, _ := unstructured.NestedMap(live.Object, "status")
	if status == nil {
		status = map[string]any{"observedGeneration": int64(-1)}
	}
	var list []any
	for _, c := range [][4]string{
		{"Reconciling", "True", "Progressing", ""},
		{"Ready", "False", "DependencyNotReady", "dependency '" + live.GetNamespace() + "/" + on + "' is not ready"},
	} {
		list = append(list, map[string]any{
			"type": c[0], "status": c[1], "reason": c[2], "message": c[3], "observedGeneration": live.GetGeneration(),
			"lastTransitionTime": now(),
		})
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, one := range conditions {
		if values, _ := one.(map[string]any); !strings.Contains("Reconciling Ready Stalled", fmt.Sprint(values["type"])) {
			list = append(list, one)
		}
	}
	status["conditions"] = list
	live.Object["status"] = status
	if _, err := f.w.cluster.Update(live, cluster.Write{By: "flux", Status: true}); err == nil {
		p.awaited = key
	}
	return true
}
