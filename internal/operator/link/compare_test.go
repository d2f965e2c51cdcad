package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tend.dev/tend/internal/operator/identity"
	"tend.dev/tend/internal/operator/puller"
)

// TestCompare: a change by another manager is a difference, with that manager's name. Fields that others added, and the
// API server's form of the operator's own fields, are not.
func TestCompare(t *testing.T) {
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app.example.org/a": "x"}},
		"spec":     map[string]any{"chart": map[string]any{"version": "1.1.0"}, "interval": "60s", "long": strings.Repeat("x", 500)},
	}}
	at := metav1.NewTime(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC))
	fields := func(manager, set string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &at, FieldsV1: &metav1.FieldsV1{Raw: []byte(set)}}
	}
	own := fields(identity.FieldManager, `{"f:metadata":{"f:labels":{"f:app.example.org/a":{}}},"f:spec":{"f:interval":{},"f:long":{}}}`)
	own.Operation = metav1.ManagedFieldsOperationApply
	disguised := fields(identity.FieldManager, `{"f:spec":{"f:chart":{"f:version":{}}}}`) // a person used the operator's name
	disguised.Operation = metav1.ManagedFieldsOperationUpdate
	for name, tc := range map[string]struct {
		change func(live *unstructured.Unstructured)
		want   string
	}{
		"as applied":      {func(*unstructured.Unstructured) {}, ""},
		"more fields":     {func(live *unstructured.Unstructured) { set(t, live, "x", "spec", "other") }, ""},
		"in another form": {func(live *unstructured.Unstructured) { set(t, live, "1m0s", "spec", "interval") }, ""},
		"changed":         {func(live *unstructured.Unstructured) { set(t, live, "2.0.0", "spec", "chart", "version") }, `spec.chart.version "1.1.0" "2.0.0" kubectl-patch`},
		"changed, disguised": {func(live *unstructured.Unstructured) {
			set(t, live, "2.0.0", "spec", "chart", "version")
			live.SetManagedFields([]metav1.ManagedFieldsEntry{own, disguised})
		}, `spec.chart.version "1.1.0" "2.0.0" vworkspace-operator`},
		"removed, with a parent": {func(live *unstructured.Unstructured) { unstructured.RemoveNestedField(live.Object, "spec", "chart") }, `spec.chart {"version":"1.1.0"}  kubectl-patch`},
		"being deleted":          {func(live *unstructured.Unstructured) { live.SetDeletionTimestamp(&at) }, "deleting"},
	} {
		live := wanted.DeepCopy()
		live.SetManagedFields([]metav1.ManagedFieldsEntry{own, fields("kubectl-patch", `{"f:spec":{"f:chart":{"f:version":{}}}}`)})
		tc.change(live)
		state := compare(wanted, live)
		var got []string
		if state.Deleting {
			got = append(got, "deleting")
		}
		for _, d := range state.Differences {
			got = append(got, fmt.Sprint(d.Field, " ", d.Declared, " ", d.Live, " ", d.Manager))
		}
		if strings.Join(got, "; ") != tc.want || state.Missing {
			t.Errorf("%s: %+v, want %s", name, state, tc.want)
		}
	}
	if state := compare(wanted, nil); !state.Missing {
		t.Errorf("absent: %+v", state)
	}
	label := wanted.DeepCopy()
	label.SetLabels(nil)
	if state := compare(wanted, label); len(state.Differences) != 1 || state.Differences[0].Manager != "" ||
		state.Differences[0].Live != "" {
		t.Errorf("a label that was removed: %+v", state)
	}
	if short := text(strings.Repeat("ü", 500)); len(short) > 128 {
		t.Errorf("%d bytes", len(short))
	}
}

func set(t *testing.T, live *unstructured.Unstructured, value string, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(live.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// TestPassing: an unreachable API server, or one that isn't ready, refuses nothing. Only an explicit answer does.
func TestPassing(t *testing.T) {
	resource := schema.GroupResource{Group: "apps.vworkspace.io", Resource: "applicationinstances"}
	kind := schema.GroupKind{Group: "apps.vworkspace.io", Kind: "ApplicationInstance"}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for name, tc := range map[string]struct {
		err    error
		passes bool
	}{
		"refused connection": {&url.Error{Op: "Patch", URL: "https://10.0.0.1", Err: refused}, true},
		"reset":              {&url.Error{Op: "Patch", URL: "https://10.0.0.1", Err: syscall.ECONNRESET}, true},
		"no answer in time":  {context.DeadlineExceeded, true},
		"not ready":          {apierrors.NewServiceUnavailable("starting"), true},
		"internal":           {apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		"too many":           {apierrors.NewTooManyRequests("later", 1), true},
		"timeout":            {apierrors.NewServerTimeout(resource, "patch", 1), true},
		"token not known":    {apierrors.NewUnauthorized("starting"), true},
		"gateway":            {apierrors.NewGenericServerResponse(http.StatusBadGateway, "patch", resource, "web", "", 0, true), true},
		"written meanwhile":  {apierrors.NewConflict(resource, "web", errors.New("the object has been modified")), true},
		"invalid":            {apierrors.NewInvalid(kind, "web", nil), false},
		"forbidden":          {apierrors.NewForbidden(resource, "web", errors.New("no")), false},
		"no namespace":       {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "prod"), false},
		"undeclared field":   {apierrors.NewInternalError(errors.New(".spec.color: field not declared in schema")), false},
		"bad":                {apierrors.NewBadRequest("no"), false},
		"no such kind":       {&meta.NoKindMatchError{GroupKind: kind}, false},
	} {
		if got := errors.Is(passing(fmt.Errorf("apply it: %w", tc.err)), puller.ErrPassing); got != tc.passes {
			t.Errorf("%s: passes %v, want %v", name, got, tc.passes)
		}
	}
}
