package engine

import (
	"cmp"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// maxName is the longest name of an object: the names of Jobs and others become label values.
const maxName = 63

// owned returns the subject of an engine that creates one object. It is named after the operation, or after its UID if
// the name is too long. In another namespace the name starts with the operation's namespace: operations of several
// namespaces may have the same name.
func owned(req Request, kind schema.GroupVersionKind, namespace string) Subject {
	op := req.Operation
	namespace = cmp.Or(namespace, op.Namespace)
	name := op.Name
	if namespace != op.Namespace {
		name = op.Namespace + "--" + op.Name
	}
	if len(name) > maxName {
		name = string(op.UID)
	}
	return Subject{GroupVersionKind: kind, Namespace: namespace, Name: name, Owned: true}
}

// labels returns the labels of an object of the operation.
func labels(req Request) map[string]string {
	all := identity.Labels(req.ClusterID, req.Operation.Spec.TargetRef.Name)
	all[identity.LabelOperation] = string(req.Operation.UID)
	return all
}

// object returns the subject with its labels, owner and spec. Since an owner must be in the same namespace, an object
// elsewhere belongs to the operation by its label, and the operation's finalizer deletes it.
func object(req Request, subject Subject, spec map[string]any) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	made.SetGroupVersionKind(subject.GroupVersionKind)
	made.SetNamespace(subject.Namespace)
	made.SetName(subject.Name)
	made.SetLabels(labels(req))
	if op := req.Operation; subject.Namespace == op.Namespace {
		made.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: opsv1alpha1.GroupVersion.String(), Kind: opsv1alpha1.KindOperation, Name: op.Name, UID: op.UID,
		}})
	}
	return made
}

// Owns reports whether an object was created for the operation.
func Owns(op *opsv1alpha1.Operation, object *unstructured.Unstructured) bool {
	return object.GetLabels()[identity.LabelOperation] == string(op.UID)
}

// set sets a field unless its value is empty.
func set[T comparable](spec map[string]any, name string, value T) {
	var empty T
	if value != empty {
		spec[name] = value
	}
}

// setList sets a field unless its list is empty.
func setList(spec map[string]any, name string, list []string) {
	if len(list) == 0 {
		return
	}
	spec[name] = anyList(list)
}

func anyList(list []string) []any {
	values := make([]any, len(list))
	for i, v := range list {
		values[i] = v
	}
	return values
}

func anyMap(m map[string]string) map[string]any {
	values := make(map[string]any, len(m))
	for k, v := range m {
		values[k] = v
	}
	return values
}

// setPointer sets a field if its value was given, even to zero.
func setPointer[T any](spec map[string]any, name string, value *T) {
	if value != nil {
		spec[name] = *value
	}
}

// addLabels adds labels to metadata that may have none.
func addLabels(metadata map[string]any, more map[string]string) {
	all, _ := metadata["labels"].(map[string]any)
	all = maps.Clone(all)
	if all == nil {
		all = map[string]any{}
	}
	for k, v := range more {
		all[k] = v
	}
	metadata["labels"] = all
}

// text returns a string field of an object, or an empty string.
func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}

// number returns a number field of an object, or 0.
func number(object *unstructured.Unstructured, path ...string) int64 {
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
	switch n := value.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

// count returns a number field as an output; empty if the object has none.
func count(object *unstructured.Unstructured, path ...string) string {
	if _, found, _ := unstructured.NestedFieldNoCopy(object.Object, path...); !found {
		return ""
	}
	return fmt.Sprint(number(object, path...))
}

// condition is a condition of an object of any kind.
type condition struct {
	Status, Reason, Message string
	// Generation is the observedGeneration, or 0 if the condition has none.
	Generation int64
}

// conditionOf returns a condition of an object, or the zero value if the object lacks it.
func conditionOf(object *unstructured.Unstructured, kind string) condition {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range list {
		values, _ := item.(map[string]any)
		if values["type"] != kind {
			continue
		}
		var found condition
		found.Status, _ = values["status"].(string)
		found.Reason, _ = values["reason"].(string)
		found.Message, _ = values["message"].(string)
		found.Generation, _ = values["observedGeneration"].(int64)
		return found
	}
	return condition{}
}
