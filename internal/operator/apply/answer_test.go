package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// status is an answer with a code and a message, as the API server sends it.
func status(code int32, message string, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message,
		Details: &metav1.StatusDetails{Causes: causes}}}
}

// webhook is a denial by an admission webhook, which chooses the code.
func webhook(code int32) error {
	return status(code, `admission webhook "p.example.org" denied the request: no`)
}

// TestAnswerOf: each answer of the API server to an apply has one meaning, also if the error is wrapped.
func TestAnswerOf(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for name, row := range map[string]struct {
		err  error
		want Answer
	}{
		"nothing":                    {nil, Stored},
		"400 bad":                    {apierrors.NewBadRequest("bad"), Refused},
		"400 by a webhook":           {webhook(http.StatusBadRequest), Refused},
		"401 unauthorized":           {apierrors.NewUnauthorized("expired"), Unanswered},
		"403 no right":               {apierrors.NewForbidden(jobs, "a", errors.New("no")), Refused},
		"403 by a webhook":           {webhook(http.StatusForbidden), Refused},
		"403 a full quota":           {apierrors.NewForbidden(jobs, "a", errors.New("exceeded quota: jobs")), Held},
		"403 a namespace that goes":  {status(403, "it ends", metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}), Held},
		"404 no namespace":           {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "velero"), Refused},
		"404 no kind":                {status(404, "the server could not find the requested resource"), Unserved},
		"no kind":                    {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Backup"}}, Unserved},
		"405 not this verb":          {apierrors.NewMethodNotSupported(jobs, "patch"), Refused},
		"408 too slow":               {status(http.StatusRequestTimeout, "timeout"), Unanswered},
		"409 version":                {apierrors.NewConflict(jobs, "a", errors.New("changed")), Outdated},
		"409 exists":                 {apierrors.NewAlreadyExists(jobs, "a"), Outdated},
		"409 quota's version":        {status(409, "Operation cannot be fulfilled on resourcequotas"), Outdated},
		"409 fields":                 {status(409, "conflict", metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec"}), Owned},
		"413 too large":              {apierrors.NewRequestEntityTooLargeError("3 MiB"), Refused},
		"415 not this patch":         {status(http.StatusUnsupportedMediaType, "no apply patches"), Refused},
		"418 by a webhook":           {webhook(http.StatusTeapot), Refused},
		"422 invalid":                {apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "a", nil), Refused},
		"422 by an admission policy": {status(422, `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`), Refused},
		"429 busy":                   {apierrors.NewTooManyRequests("slow", 1), Unanswered},
		"429 by a webhook":           {webhook(http.StatusTooManyRequests), Held},
		"500 undeclared field":       {apierrors.NewInternalError(errors.New(".spec.x: field not declared in schema")), Refused},
		"500 by a webhook":           {webhook(http.StatusInternalServerError), Held},
		"500 no webhook":             {apierrors.NewInternalError(errors.New(`failed calling webhook "p": connection refused`)), Held},
		"500 etcd":                   {apierrors.NewInternalError(errors.New("etcdserver: request timed out")), Unanswered},
		"503 starts":                 {apierrors.NewServiceUnavailable("starting"), Unanswered},
		"504 in time":                {apierrors.NewTimeoutError("the request did not complete", 1), Unanswered},
		"504 the server's time":      {apierrors.NewServerTimeout(jobs, "patch", 1), Unanswered},
		"end":                        {context.DeadlineExceeded, Unanswered},
		"network":                    {errors.New("connection reset by peer"), Unanswered},
	} {
		if got := AnswerOf(row.err); got != row.want {
			t.Errorf("%s: %v: %s, want %s", name, row.err, got, row.want)
		}
		if row.err == nil {
			continue
		}
		if got := AnswerOf(fmt.Errorf("apply Job a: %w", row.err)); got != row.want {
			t.Errorf("%s, wrapped: %s, want %s", name, got, row.want)
		}
	}
}
