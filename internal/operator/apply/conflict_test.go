package apply

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestConflicts: the answer to an apply without force names managers and fields. Other conflicts don't.
func TestConflicts(t *testing.T) {
	cause := func(field, message string) metav1.StatusCause {
		return metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: field, Message: message}
	}
	answer := apierrors.NewApplyConflict([]metav1.StatusCause{
		cause(".spec.b", `conflict with "kubectl" using v1`), cause(".spec.a", `conflict with "kubectl" using v1`),
		cause(".spec.a", `conflict with "kubectl" using v1`), cause(".spec.c", "of a server that says it in other words"),
	}, "conflicts")
	for name, row := range map[string]struct {
		reason string
		err    error
		want   []Conflict
	}{
		"apply": {"each field once, in order", fmt.Errorf("apply: %w", answer), []Conflict{
			{"kubectl", ".spec.a"}, {"kubectl", ".spec.b"}, {"of a server that says it in other words", ".spec.c"},
		}},
		"version": {"an object that has changed since isn't a conflict of fields",
			apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "a", errors.New("changed")), nil},
		"network": {"no answer", errors.New("no answer"), nil},
	} {
		if got := Conflicts(row.err); !slices.Equal(got, row.want) {
			t.Errorf("%s: %s: %+v, want %+v", name, row.reason, got, row.want)
		}
	}
}
