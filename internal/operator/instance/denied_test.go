package instance

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/bounds"
)

// TestDenied: for an instance that the operator may not work on, nothing is applied or deleted; the installed state is
// reported.
func TestDenied(t *testing.T) {
	denied := &bounds.RefusalError{Reason: bounds.NamespaceNotGated, Message: "label it"}
	fresh := web()
	fresh.Finalizers = nil
	result := Plan(fresh, &Observed{Denied: denied}, noon)
	want := "Blocked=True/PolicyDenied Degraded=False/Recovered Ready=False/PolicyDenied Reconciling=False/Stable Suspended=False/Active"
	if got := conditions(result.Status); got != want || len(result.Apply)+len(result.Delete) > 0 || result.AddFinalizer {
		t.Errorf("new: %+v\n got %s\nwant %s", result, got, want)
	}

	running := applied(t, web(), flux("Ready=True/InstallSucceeded"), flux("Ready=True/Succeeded"))
	running.Denied = denied
	changed := web()
	changed.Spec.Chart.Version = "2.0.0"
	result = Plan(changed, running, noon)
	if len(result.Apply)+len(result.Delete) > 0 {
		t.Errorf("of one that is installed something is changed: %+v", result)
	}
	want = "Blocked=True/PolicyDenied"
	if got := conditions(result.Status); got[:len(want)] != want || !strings.Contains(got, "Ready=False/PolicyDenied") {
		t.Errorf("installed, and changed since: %s", got)
	}
	if got := conditions(Plan(web(), running, noon).Status); !strings.Contains(got, "Ready=True/HelmReleaseReady") {
		t.Errorf("installed: %s", got)
	}

	placeholder := web()
	placeholder.Spec.Mode = appsv1alpha1.ModePlaceholder
	placeholder.Spec.Chart, placeholder.Spec.Release, placeholder.Spec.Values = nil, nil, nil
	if got := conditions(Plan(placeholder, &Observed{Denied: denied}, noon).Status); got[:len(want)] != want {
		t.Errorf("placeholder: %s", got)
	}

	deleted, at := web(), metav1.NewTime(noon)
	deleted.DeletionTimestamp = &at
	if result = Plan(deleted, running, noon); len(result.Delete) == 0 {
		t.Error("a deletion deletes nothing")
	}
}
