package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Difference is a value that a live object lacks or contradicts.
type Difference struct {
	// Path holds the keys that lead to the value.
	Path []string
	// Wanted and Live are the values. Live is nil if it is missing.
	Wanted, Live any
}

// Field is the path as Kubernetes writes it, with a dot before each key.
func (d Difference) Field() string { return "." + strings.Join(d.Path, ".") }

// Differences returns where live lacks or contradicts a value of wanted. Additional values in live don't count: others
// own them. A list counts as one value, except owner references, to which others may add.
func Differences(wanted, live map[string]any) []Difference { return differences(nil, wanted, live) }

func differences(path []string, wanted, live any) []Difference {
	differs := []Difference{{Path: path, Wanted: wanted, Live: live}}
	switch wanted := wanted.(type) {
	case map[string]any:
		values, ok := live.(map[string]any)
		if !ok {
			if len(wanted) == 0 && live == nil {
				return nil
			}
			return differs
		}
		var found []Difference
		for _, key := range slices.Sorted(maps.Keys(wanted)) {
			found = append(found, differences(append(slices.Clone(path), key), wanted[key], values[key])...)
		}
		return found
	case []any:
		values, _ := live.([]any)
		if slices.Equal(path, []string{"metadata", "ownerReferences"}) {
			if lacks(wanted, values) {
				return differs
			}
			return nil
		}
		if len(wanted) != len(values) {
			return differs
		}
		for i := range wanted {
			if len(differences(path, wanted[i], values[i])) > 0 {
				return differs
			}
		}
		return nil
	}
	if !same(wanted, live) {
		return differs
	}
	return nil
}

// same compares two values that are neither maps nor lists. The server may return 1.0 as 1.
func same(a, b any) bool {
	_, aText := a.(string)
	_, bText := b.(string)
	return aText == bText && (a == nil) == (b == nil) && fmt.Sprint(a) == fmt.Sprint(b)
}

// lacks reports whether an element of wanted is missing in live.
func lacks(wanted, live []any) bool {
	return slices.ContainsFunc(wanted, func(one any) bool {
		return !slices.ContainsFunc(live, func(other any) bool { return len(differences(nil, one, other)) == 0 })
	})
}

// Manager returns the field manager that set a field last, in the API server's record, and whether it did so by an
// apply. The name is empty if no manager owns the field.
func Manager(fields []metav1.ManagedFieldsEntry, path []string) (name string, applied bool) {
	var last metav1.ManagedFieldsEntry
	for _, entry := range fields {
		if entry.FieldsV1 == nil || entry.Subresource != "" || !owns(entry.FieldsV1.GetRawBytes(), path) {
			continue
		}
		if last.Manager == "" || entry.Time != nil && last.Time != nil && last.Time.Before(entry.Time) {
			last = entry
		}
	}
	return last.Manager, last.Operation == metav1.ManagedFieldsOperationApply
}

// owns reports whether a set of fields contains a path, a parent of it held as one value, or something below it.
func owns(set []byte, path []string) bool {
	var node map[string]any
	if json.Unmarshal(set, &node) != nil {
		return false
	}
	for i, key := range path {
		next, ok := node["f:"+key].(map[string]any)
		if !ok {
			return false
		}
		if node = next; len(node) == 0 || i == len(path)-1 {
			return true
		}
	}
	return false
}
