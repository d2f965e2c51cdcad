package link

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/identity"
)

// TestOlder: a job that requests an earlier state is not done again.
func TestOlder(t *testing.T) {
	created := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		reason   string
		job, has string
		made     time.Time
		want     bool
	}{
		"same":  {"the job that is there comes again", "u.3", "u.3", created, false},
		"newer": {"the next generation", "u.4", "u.3", created, false},
		"older": {"a generation that was replaced", "u.2", "u.3", created.Add(time.Hour), true},
		"same second": {"a generation that was replaced within the second that the API server records",
			"u.2", "u.3", created.Add(2*time.Hour + 400*time.Millisecond), true},
		"recreated":     {"the object was declared again since", "v.1", "u.3", created.Add(time.Hour), false},
		"before":        {"a job of an object before the one that is there", "t.9", "u.3", created.Add(-time.Hour), true},
		"not stamped":   {"a resource that says nothing", "u.1", "", created, false},
		"not a version": {"a job that says nothing useful", "odd", "u.3", created, false},
		"forged":        {"a person wrote the annotation; the job was made after what the operator applied last", "u.2", "u.99", created.Add(3 * time.Hour), false},
	} {
		job := pull.Job{Object: test.job, CreatedAt: test.made}
		live := &metav1.PartialObjectMetadata{}
		applied := metav1.NewTime(created.Add(2 * time.Hour))
		live.SetCreationTimestamp(metav1.NewTime(created))
		live.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: created.Add(9 * time.Hour)}},
			{Manager: identity.FieldManager, Operation: metav1.ManagedFieldsOperationApply, Time: &applied},
			{Manager: identity.FieldManager, Operation: metav1.ManagedFieldsOperationApply, Subresource: "status",
				Time: &metav1.Time{Time: created.Add(9 * time.Hour)}},
		})
		if got := older(job, test.has, live); got != test.want {
			t.Errorf("%s: %s: got %t", name, test.reason, got)
		}
	}
}
