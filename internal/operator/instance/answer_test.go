package instance

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestAnswersAreSaid: what the API server answers to an apply becomes a condition, unless the answer says nothing about
// the object.
func TestAnswersAreSaid(t *testing.T) {
	releases := schema.GroupResource{Group: "helm.toolkit.fluxcd.io", Resource: "helmreleases"}
	for name, row := range map[string]struct {
		answer  error
		blocked string
	}{
		"refused": {apierrors.NewMethodNotSupported(releases, "patch"),
			"Blocked=True/ApplyRefused Degraded=False/Recovered Ready=False/ApplyRefused"},
		"no namespace": {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "prod"),
			"Blocked=True/ApplyRefused Degraded=False/Recovered Ready=False/ApplyRefused"},
		"held": {apierrors.NewInternalError(errors.New("failed calling webhook")),
			"Blocked=True/ApplyFailed Degraded=False/Recovered Ready=False/ApplyFailed"},
		"unserved": {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "HelmRelease"}},
			"Blocked=True/MissingDependencies Degraded=False/Recovered Ready=False/MissingDependencies"},
		"busy":     {apierrors.NewTooManyRequests("slow", 1), ""},
		"outdated": {apierrors.NewConflict(releases, "web", errors.New("changed")), ""},
		"network":  {errors.New("connection reset by peer"), ""},
	} {
		observed := &Observed{}
		observed.failed(row.answer, kindHelmRelease)
		if said := observed.Failure != ""; said != (row.blocked != "") {
			t.Errorf("%s: it says %q", name, observed.Failure)
		} else if got := conditions(Plan(web(), observed, noon).Status); said && got[:len(row.blocked)] != row.blocked {
			t.Errorf("%s: got %s\nwant %s", name, got, row.blocked)
		}
	}
}
