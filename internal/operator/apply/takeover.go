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

// Object applies an object without force. Only if every manager that is in the way is one of takeOver, it applies it again with
// force. wanted becomes what the API server stored.
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

// Managers returns the field managers that the annotation take-over names, separated by commas.
func Managers(annotation string) []string {
	return strings.FieldsFunc(annotation, func(r rune) bool { return r == ',' || r == ' ' })
}

// ManagersOf returns who is in the way, each once.
func ManagersOf(conflicts []Conflict) []string {
	var names []string
	for _, c := range conflicts {
		names = append(names, c.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// GiveUp returns the command by which managers give up what they have set of an object: it removes them from the record of who
// owns which field, and changes no value. live is the object with that record, or nil: then there is no command, and it is "".
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
	for i, entry := range slices.Backward(live.GetManagedFields()) { // what is removed moves what follows
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
