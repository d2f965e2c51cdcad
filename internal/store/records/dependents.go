package records

import (
	"bytes"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/view"
)

// IndexDependents maps a workload to the objects that depend on it (depends_on.workloads): Ref.String() → objects.
const IndexDependents = "objects.dependents"

var dependents = view.Index{Name: IndexDependents, Keys: func(_ string, value any) []string {
	object, ok := value.(*api.Object)
	if !ok || !bytes.Contains(object.Spec, []byte(`"depends_on"`)) {
		return nil
	}
	var keys []string
	for _, ref := range api.Dependencies(*object) {
		keys = append(keys, ref.String())
	}
	return keys
}}

// Dependents returns the objects that depend on a workload.
func (s Snapshot) Dependents(ref api.Ref) []api.Ref {
	var out []api.Ref
	for _, object := range collect[api.Object](s.Index(IndexDependents, ref.String())) {
		out = append(out, object.Value.Ref())
	}
	return out
}
