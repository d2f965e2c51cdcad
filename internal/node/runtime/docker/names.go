package docker

import (
	"strings"
)

// idLength is the length of the engine's ids.
const idLength = 64

// nameOf returns what users call the cluster's container with an id: its name, which is the pod's. Of a container that
// isn't known it returns the id, shortened.
func (r *Runtime) nameOf(id string) string {
	if name := r.owned.name(id); name != "" {
		return name
	}
	if len(id) == idLength {
		return short(id)
	}
	return id // a name
}

// containerFault translates an error of a call about a container of the cluster, and names the container by its name
// also where the engine names its id. Nil stays nil.
func (r *Runtime) containerFault(verb, id string, err error) error {
	if err == nil {
		return nil
	}
	name := r.nameOf(id)
	return r.fault(verb+" container "+name, &namedError{cause: err, id: id, name: name})
}

// namedError is an error of the engine with a container's name in the place of its id.
type namedError struct {
	cause    error
	id, name string
}

func (e *namedError) Error() string {
	text := e.cause.Error()
	if len(e.id) != idLength {
		return text
	}
	return strings.NewReplacer(e.id, e.name, short(e.id), e.name).Replace(text)
}

func (e *namedError) Unwrap() error { return e.cause }
