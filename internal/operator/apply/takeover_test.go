package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestGiveUp: the command removes the managers' entries, the last first, and each only while it belongs to its manager.
func TestGiveUp(t *testing.T) {
	live := &unstructured.Unstructured{Object: map[string]any{"kind": "HelmRelease"}}
	live.SetName("web")
	live.SetNamespace("prod")
	live.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "vworkspace-operator", Operation: metav1.ManagedFieldsOperationApply},
		{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply},
		{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status"},
		{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate},
	})
	want := `kubectl patch helmrelease web -n prod --type=json --field-manager=kubectl -p '` +
		`[{"op":"test","path":"/metadata/managedFields/3/manager","value":"kubectl"},{"op":"remove","path":"/metadata/managedFields/3"},` +
		`{"op":"test","path":"/metadata/managedFields/1/manager","value":"kubectl"},{"op":"remove","path":"/metadata/managedFields/1"}]'`
	if diff := cmp.Diff(want, GiveUp(live, []string{"kubectl"})); diff != "" {
		t.Error(diff)
	}
	if got := GiveUp(live, []string{"helm"}) + GiveUp(nil, []string{"kubectl"}); got != "" {
		t.Errorf("there is nothing to give up, and the command is %q", got)
	}
}

func TestManagers(t *testing.T) {
	if diff := cmp.Diff([]string{"a", "b"}, Managers("a, b")); diff != "" {
		t.Error(diff)
	}
	conflicts := []Conflict{{"kubectl", ".a"}, {"helm", ".b"}, {"kubectl", ".c"}}
	if diff := cmp.Diff([]string{"helm", "kubectl"}, ManagersOf(conflicts)); diff != "" {
		t.Error(diff)
	}
}
