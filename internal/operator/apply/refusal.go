package apply

import (
	"strings"

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
	if err == nil || apierrors.IsConflict(err) {
		return nil
	}
	return &Refusal{Message: err.Error(), Final: final(err)}
}

func final(err error) bool {
	switch {
	case apierrors.IsForbidden(err):
		return !strings.Contains(err.Error(), "exceeded quota") // a full quota may have room later
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsNotFound(err), meta.IsNoMatchError(err),
		apierrors.IsMethodNotSupported(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsUnsupportedMediaType(err):
		return true
	}
	return strings.Contains(err.Error(), undeclared)
}

// undeclared is the API server's message about a field that the kind doesn't have. The answer has the status of a
// server fault, so only the text identifies it.
const undeclared = "field not declared in schema"
