package cluster

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// asIs stands in for conversions and defaults: each kind has one version, and nothing has a default.
type asIs struct{}

func (asIs) Default(runtime.Object) {}

func (asIs) Convert(_, _, _ any) error { return nil }

func (asIs) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (asIs) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (asIs) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	made := &unstructured.Unstructured{Object: map[string]any{}}
	made.SetGroupVersionKind(gvk)
	return made, nil
}

// manager returns the manager of fields of a kind.
func manager(gvk schema.GroupVersionKind, subresource string) (*managedfields.FieldManager, error) {
	return managedfields.NewDefaultCRDFieldManager(
		managedfields.NewDeducedTypeConverter(), asIs{}, asIs{}, asIs{}, gvk, gvk.GroupVersion(), subresource, nil,
	)
}

// merged applies a JSON merge patch to a value.
func merged(value map[string]any, patch map[string]any) map[string]any {
	if value == nil {
		value = map[string]any{}
	}
	for name, next := range patch {
		switch next := next.(type) {
		case nil:
			delete(value, name)
		case map[string]any:
			inner, _ := value[name].(map[string]any)
			value[name] = merged(inner, next)
		default:
			value[name] = next
		}
	}
	return value
}

// isSame reports whether two states of an object differ in nothing but the times of its field managers.
func isSame(a, b *unstructured.Unstructured) bool {
	plain := func(o *unstructured.Unstructured) map[string]any {
		o = o.DeepCopy()
		fields := o.GetManagedFields()
		for i := range fields {
			fields[i].Time = nil
		}
		o.SetManagedFields(fields)
		return o.Object
	}
	return reflect.DeepEqual(plain(a), plain(b))
}

// hasSameSpec reports whether two states of an object differ only in their metadata and status.
func hasSameSpec(a, b *unstructured.Unstructured) bool {
	for _, both := range [][2]map[string]any{{a.Object, b.Object}, {b.Object, a.Object}} {
		for name, value := range both[0] {
			if name != "metadata" && name != "status" && !reflect.DeepEqual(value, both[1][name]) {
				return false
			}
		}
	}
	return true
}
