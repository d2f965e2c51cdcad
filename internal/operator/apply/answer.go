package apply

import (
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Answer classifies the API server's answer to an apply.
type Answer int

// The values of Answer.
const (
	// Stored: the object is stored.
	Stored Answer = iota
	// Outdated: another write came first. It is read and applied again at once, and nothing is reported.
	Outdated
	// Owned: other field managers have set some of the fields.
	Owned
	// Unserved: the API server does not serve the kind. It is applied again once it does.
	Unserved
	// Refused: the same request is always refused, so someone has to change something.
	Refused
	// Held: nothing is stored, and the same request may be accepted later: a quota is full, a webhook does not answer.
	Held
	// Unanswered: there is no answer, the API server asks to wait, or it has a fault of its own, which may follow the
	// write. It is applied again at growing intervals.
	Unanswered
)

// String returns the answer's name.
func (a Answer) String() string {
	return [...]string{"Stored", "Outdated", "Owned", "Unserved", "Refused", "Held", "Unanswered"}[a]
}

// The texts of answers whose status doesn't identify them.
const (
	// undeclared: the kind has no such field. The status is that of a server fault.
	undeclared = "field not declared in schema"
	// denied: a webhook has decided, with any status that it likes; unreachable: it could not be asked.
	denied, unreachable = "denied the request", "failed calling webhook"
	quota               = "exceeded quota"
)

// AnswerOf returns what the error of an apply means.
func AnswerOf(err error) Answer {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return Stored
	case len(Conflicts(err)) > 0:
		return Owned
	case meta.IsNoMatchError(err):
		return Unserved
	case !errors.As(err, &status):
		return Unanswered
	}
	return answerOf(err, int(status.Status().Code))
}

func answerOf(err error, code int) Answer {
	says := func(text string) bool { return strings.Contains(err.Error(), text) }
	switch code {
	case http.StatusConflict:
		return Outdated
	case http.StatusNotFound:
		if says(`namespaces "`) {
			return Refused
		}
		return Unserved
	case http.StatusForbidden:
		if says(quota) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return Held
		}
		return Refused
	case http.StatusUnauthorized, http.StatusRequestTimeout:
		return Unanswered
	case http.StatusTooManyRequests:
		if says(denied) {
			return Held
		}
		return Unanswered
	}
	switch {
	case code >= http.StatusBadRequest && code < http.StatusInternalServerError, says(undeclared):
		return Refused
	case says(denied), says(unreachable):
		return Held
	}
	return Unanswered
}
