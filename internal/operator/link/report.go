package link

import (
	"cmp"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api"
	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/puller"
)

// resourceOf names an ApplicationInstance or an Operation.
func resourceOf(object client.Object) api.ClusterResource {
	kind := kindInstance
	if _, typed := object.(*opsv1alpha1.Operation); typed ||
		object.GetObjectKind().GroupVersionKind().Kind == kindOperation.Kind {
		kind = kindOperation
	}
	return api.ClusterResource{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName(),
		UID: string(object.GetUID()), Generation: object.GetGeneration(),
	}
}

// observationOf returns the state of an ApplicationInstance or an Operation.
func observationOf(object client.Object) puller.Observation {
	seen := puller.Observation{Found: true, Resource: resourceOf(object)}
	var status struct {
		ObservedGeneration int64              `json:"observedGeneration"`
		Conditions         []metav1.Condition `json:"conditions"`
	}
	switch o := object.(type) {
	case *opsv1alpha1.Operation:
		status.ObservedGeneration, status.Conditions = o.Status.ObservedGeneration, o.Status.Conditions
	case *unstructured.Unstructured:
		values, _, _ := unstructured.NestedMap(o.Object, "status")
		// The API server has checked the object by its schema. A field that can't be read is left empty.
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(values, &status)
		seen.Inventory = inventoryOf(values, status.ObservedGeneration >= object.GetGeneration())
		seen.History = historyOf(values, object.GetGeneration())
	}
	seen.ObservedGeneration = status.ObservedGeneration
	for _, c := range status.Conditions {
		seen.Conditions = append(seen.Conditions, conditionOf(c, status.ObservedGeneration))
	}
	return seen
}

// inventoryOf returns the inventory in a status. Only a status of the current generation has a health.
func inventoryOf(status map[string]any, current bool) *pull.Inventory {
	var has struct {
		Inventory      []inventoryEntry  `json:"inventory"`
		InventoryCount int               `json:"inventoryCount"`
		Health         api.ClusterHealth `json:"health"`
	}
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(status, &has) // as above
	if has.InventoryCount == 0 {
		return nil
	}
	inventory := &pull.Inventory{Count: has.InventoryCount}
	for _, entry := range has.Inventory {
		object := api.ClusterObject{ClusterResource: api.ClusterResource{
			APIVersion: entry.APIVersion, Kind: entry.Kind, Namespace: entry.Namespace, Name: entry.Name,
		}}
		if current {
			object.Health, object.Message = api.ClusterHealth(entry.Health), entry.Message
		}
		inventory.Objects = append(inventory.Objects, object)
	}
	if current {
		inventory.Health = has.Health
	}
	return inventory
}

type inventoryEntry = appsv1alpha1.InventoryEntry

func conditionOf(c metav1.Condition, observed int64) pull.Condition {
	c.ObservedGeneration = cmp.Or(c.ObservedGeneration, observed)
	return pull.Condition{
		Type: c.Type, Status: api.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
		LastTransitionTime: c.LastTransitionTime.UTC(), ObservedGeneration: c.ObservedGeneration,
	}
}

// isReported reports whether an object belongs to the control plane, which then gets events about it.
func isReported(object client.Object) bool {
	return object.GetLabels()[identity.LabelManagedBy] == identity.ManagedBy
}

// changes returns an event for a changed history, one for each condition that has changed, or for all if nothing was
// known before, and one for a changed inventory. The history comes first: with Ready its reader knows which revision is
// ready.
func changes(before, now puller.Observation, at time.Time) (events []pull.Event) {
	if before.Resource.UID != now.Resource.UID {
		before = puller.Observation{}
	}
	event := pull.Event{Kind: pull.EventConditionTransition, ResourceRef: now.Resource, Timestamp: at.UTC()}
	if !reflect.DeepEqual(before.History, now.History) {
		has := event
		has.History = cmp.Or(now.History, &pull.History{}) // the history became empty
		events = append(events, has)
	}
	known := map[string]pull.Condition{}
	for _, c := range before.Conditions {
		known[c.Type] = c
	}
	for _, c := range now.Conditions {
		if old, ok := known[c.Type]; ok && old == c {
			continue
		}
		changed := event
		changed.EventKey, changed.Conditions = eventKey(now.Resource, c), []pull.Condition{c}
		events = append(events, changed)
	}
	if !reflect.DeepEqual(before.Inventory, now.Inventory) {
		has := event
		has.Inventory = cmp.Or(now.Inventory, &pull.Inventory{}) // the inventory became empty
		events = append(events, has)
	}
	return events
}

// eventKey identifies a transition. A condition that changes and changes back in one generation has two.
func eventKey(r api.ClusterResource, c pull.Condition) string {
	return fmt.Sprintf("condition/%s/%s/%s/%s/%s/%s/%s/%s@%d/%d",
		r.APIVersion, r.Kind, r.Namespace, r.Name, r.UID, c.Type, c.Status, c.Reason, c.ObservedGeneration,
		c.LastTransitionTime.Unix())
}
