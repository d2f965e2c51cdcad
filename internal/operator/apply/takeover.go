package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/identity"
)

// Object applies an object without force. If all conflicting managers are in takeOver, it applies the object again with
// force. wanted becomes the stored object.
func Object(ctx context.Context, c client.Client, wanted *unstructured.Unstructured, takeOver []string) error {
	const owner = client.FieldOwner(identity.FieldManager)
	configuration := client.ApplyConfigurationFromUnstructured(wanted)
	err := c.Apply(ctx, configuration, owner)
	conflicts := Conflicts(err)
	if len(conflicts) == 0 ||
		slices.ContainsFunc(conflicts, func(c Conflict) bool { return !slices.Contains(takeOver, c.Manager) }) {
		return err
	}
	return c.Apply(ctx, configuration, owner, client.ForceOwnership)
}

// Managers returns the field managers in the value of the annotation take-over, which are separated by commas.
func Managers(annotation string) []string {
	return strings.FieldsFunc(annotation, func(r rune) bool { return r == ',' || r == ' ' })
}

// ManagersOf returns the managers of conflicts, each once.
func ManagersOf(conflicts []Conflict) []string {
	var names []string
	for _, c := range conflicts {
		names = append(names, c.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// GiveUp returns the command with which managers give up their fields of an object: it removes them from the record of
// field owners, and changes no value. live is the object with that record. If it is nil, the command is empty.
func GiveUp(live *unstructured.Unstructured, managers []string) string {
	if live == nil {
		return ""
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value,omitempty"`
	}
	var patch []operation
	by := ""
	for i, entry := range slices.Backward(live.GetManagedFields()) { // backward: a removal moves the later entries
		if entry.Subresource != "" || !slices.Contains(managers, entry.Manager) {
			continue
		}
		path := fmt.Sprintf("/metadata/managedFields/%d", i)
		patch = append(patch, operation{"test", path + "/manager", entry.Manager}, operation{Op: "remove", Path: path})
		by = entry.Manager
	}
	if len(patch) == 0 {
		return ""
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("kubectl patch %s %s -n %s --type=json --field-manager=%s -p '%s'",
		strings.ToLower(live.GetKind()), live.GetName(), live.GetNamespace(), by, text)
}
