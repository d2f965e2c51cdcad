package apply

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Refusal is why the API server did not create an object.
type Refusal struct {
	// Message is the API server's own.
	Message string
	// Final says that the same request is refused for ever. Else it may succeed later.
	Final bool
}

// RefusalOf returns what the answer to an apply says of the object. It is nil for a conflict, be it of fields or of versions:
// that says nothing of the object itself.
func RefusalOf(err error) *Refusal {
	if err == nil || apierrors.IsConflict(err) {
		return nil
	}
	return &Refusal{Message: err.Error(), Final: final(err)}
}

func final(err error) bool {
	switch {
	case apierrors.IsForbidden(err):
		return !strings.Contains(err.Error(), "exceeded quota") // a quota that is full now may have room later
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsNotFound(err), meta.IsNoMatchError(err),
		apierrors.IsMethodNotSupported(err), apierrors.IsRequestEntityTooLargeError(err), apierrors.IsUnsupportedMediaType(
			err,
		):
		return true
	}
	return strings.Contains(err.Error(), undeclared)
}

// undeclared is what the API server says of a field that the kind does not have. The answer's status is that of a fault of the
// server, so its text is all there is to tell it by.
const undeclared = "field not declared in schema"
