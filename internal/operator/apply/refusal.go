package apply

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Refusal is the reason why the API server did not create an object.
type Refusal struct {
	// Message is the API server's message.
	Message string
	// Final says that the same request will always be refused. Otherwise it may succeed later.
	Final bool
}

// RefusalOf returns the refusal in the answer to an apply. It is nil for a conflict, of fields or of versions, since
// that doesn't concern the object itself.
func RefusalOf(err error) *Refusal {
	switch answer := AnswerOf(err); answer {
	case Stored, Outdated, Owned:
		return nil
	default:
		return &Refusal{Message: err.Error(), Final: answer == Refused || answer == Unserved}
	}
}

// Unknown reports whether a write may be stored although it returned an error: there is no answer, or the API server
// answers with a fault of its own, which may follow the write. A conflict and every other refusal store nothing.
func Unknown(err error) bool {
	var answer apierrors.APIStatus
	switch {
	case err == nil, meta.IsNoMatchError(err): // nothing was sent
		return false
	case errors.As(err, &answer):
		code := answer.Status().Code
		return code < http.StatusBadRequest || code >= http.StatusInternalServerError
	}
	return true
}
