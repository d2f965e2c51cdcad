//go:build simulate

package simulation

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"tend.dev/tend/internal/operator/simulation/cluster"
)

// condition is a condition of any object.
type condition struct {
	kind, status, reason string
	generation           int64
	// again: the object had a condition of the kind before.
	again bool
}

func conditionsOf(live *unstructured.Unstructured) (all []condition) {
	list, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, one := range list {
		values, _ := one.(map[string]any)
		named := &unstructured.Unstructured{Object: values}
		all = append(all, condition{
			kind: text(named, "type"), status: text(named, "status"), reason: text(named, "reason"),
			generation: number(named, "observedGeneration"),
		})
	}
	return all
}

func conditionOf(live *unstructured.Unstructured, kind string) condition {
	if live != nil {
		for _, c := range conditionsOf(live) {
			if c.kind == kind {
				return c
			}
		}
	}
	return condition{}
}

// eventsOf returns how often the cluster's Events say each transition.
func (w *World) eventsOf() map[transition]int {
	said := map[transition]int{}
	for _, event := range w.cluster.List(cluster.Event) {
		begin, _, _ := strings.Cut(text(event, "note"), ":")
		is := transition{types.UID(text(event, "regarding", "uid")), text(event, "reason"), begin}
		said[is] += int(max(1, number(event, "series", "count")))
	}
	return said
}

// eventLife is the time for which an API server keeps an Event. Afterwards no one misses it.
const eventLife = time.Hour

// forgive drops transitions without an Event when an operator starts: those from shortly before the one before it was
// killed, an Event's life ago.
func (o *oracle) forgive(said map[transition]int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	died := time.Unix(0, o.died.Load())
	for is, times := range o.transitions {
		if said[is] < times && died.Sub(o.at[is]) < time.Minute && time.Since(o.at[is]) >= eventLife {
			o.transitions[is] = said[is]
		}
	}
}
