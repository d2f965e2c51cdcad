package apply

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestRefusalOf: requests that can't succeed are final, requests that may succeed later are not, and conflicts are no
// refusals.
func TestRefusalOf(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for name, row := range map[string]struct {
		reason         string
		err            error
		refused, final bool
	}{
		"nothing":    {"no error", nil, false, false},
		"version":    {"another write came first", apierrors.NewConflict(jobs, "a", errors.New("changed")), false, false},
		"fields":     {"others own fields", apierrors.NewApplyConflict([]metav1.StatusCause{{Field: ".spec"}}, "conflict"), false, false},
		"invalid":    {"a value is wrong", apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "a", nil), true, true},
		"bad":        {"it can't be read", apierrors.NewBadRequest("bad"), true, true},
		"forbidden":  {"the operator may not", apierrors.NewForbidden(jobs, "a", errors.New("no")), true, true},
		"quota":      {"a quota may get room", apierrors.NewForbidden(jobs, "a", errors.New("exceeded quota: jobs")), true, false},
		"namespace":  {"no such namespace", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "velero"), true, true},
		"kind":       {"no such kind", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Backup"}}, true, true},
		"undeclared": {"an unknown field is answered with 500", apierrors.NewInternalError(errors.New(".spec.x: field not declared in schema")), true, true},
		"webhook":    {"a webhook may come back", apierrors.NewInternalError(errors.New("failed calling webhook")), true, false},
		"busy":       {"the server asks to wait", apierrors.NewTooManyRequests("slow", 1), true, false},
		"network":    {"no answer", errors.New("connection refused"), true, false},
	} {
		got := RefusalOf(row.err)
		if (got != nil) != row.refused || got != nil && got.Final != row.final {
			t.Errorf("%s: %s: got %+v", name, row.reason, got)
		}
	}
}

// TestUnknown: a write may be stored if there is no answer, or a fault of the API server. Every refusal stores nothing.
func TestUnknown(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for name, row := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":   {nil, false},
		"version":   {apierrors.NewConflict(jobs, "a", errors.New("changed")), false},
		"fields":    {apierrors.NewApplyConflict([]metav1.StatusCause{{Field: ".spec"}}, "conflict"), false},
		"invalid":   {apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "a", nil), false},
		"bad":       {apierrors.NewBadRequest("bad"), false},
		"forbidden": {apierrors.NewForbidden(jobs, "a", errors.New("no")), false},
		"gone":      {apierrors.NewNotFound(jobs, "a"), false},
		"busy":      {apierrors.NewTooManyRequests("slow", 1), false},
		"kind":      {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Backup"}}, false},
		"wrapped":   {fmt.Errorf("write: %w", apierrors.NewConflict(jobs, "a", errors.New("changed"))), false},
		"network":   {errors.New("connection reset by peer"), true},
		"end":       {context.DeadlineExceeded, true},
		"fault":     {apierrors.NewInternalError(errors.New("etcdserver: request timed out")), true},
		"time":      {apierrors.NewTimeoutError("the request did not complete", 1), true},
		"no server": {apierrors.NewServiceUnavailable("starting"), true},
	} {
		if got := Unknown(row.err); got != row.want {
			t.Errorf("%s: %v: unknown is %t, want %t", name, row.err, got, row.want)
		}
	}
}
