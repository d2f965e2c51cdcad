package suggest

import (
	"iter"

	"tend.dev/tend/api"
)

// Object returns the object that an address was probably meant to name; ok is false if none is near. Of the address,
// kind and scope may be empty. An object of another kind is only near if it has the very name.
//
// Of objects that are equally near, one in the scope that was asked for wins, then one that runs containers. None is
// near where names are equally near still: a command that follows a wrong guess would change another object.
func Object(asked api.Ref, there iter.Seq[api.Ref]) (found api.Ref, ok bool) {
	best, several := cost{letters: most}, false
	for ref := range there {
		if ref == asked {
			return api.Ref{}, false // it is there
		}
		c, near := costOf(asked, ref)
		switch {
		case !near:
		case c.less(best):
			found, ok, best, several = ref, true, c, false
		case c == best && (ref.Scope != found.Scope || ref.Name != found.Name):
			several = true
		case c == best && ref.String() < found.String():
			found = ref
		}
	}
	if several {
		return api.Ref{}, false
	}
	return found, ok
}

// Address returns the address of the object that asked was probably meant to name, as commands take it; empty if none
// is near. It names the kind where asked does, or where the object is in no scope.
func Address(asked api.Ref, there iter.Seq[api.Ref]) string {
	near, ok := Object(asked, there)
	switch {
	case !ok:
		return ""
	case asked.Kind != "" || near.Scope == api.Unscoped:
		return near.String()
	}
	return near.Scope + "/" + near.Name
}

// cost returns the distance of an object from the requested one.
type cost struct {
	letters int
	kind    bool // another kind than the one that was asked for
	scope   bool // another scope
	service bool // it runs no containers
}

func (c cost) less(other cost) bool {
	switch {
	case c.letters != other.letters:
		return c.letters < other.letters
	case c.kind != other.kind:
		return !c.kind
	case c.scope != other.scope:
		return !c.scope
	}
	return !c.service && other.service
}

// costOf compares an object with an address. One is near if scope and name each are what was asked for, or nearly.
func costOf(asked, ref api.Ref) (cost, bool) {
	c := cost{kind: asked.Kind != "" && asked.Kind != ref.Kind, scope: asked.Scope != "" && asked.Scope != ref.Scope,
		service: !ref.Kind.HasContainers()}
	if asked.Name != ref.Name {
		if !Near(asked.Name, ref.Name) || c.kind {
			return c, false
		}
		c.letters += Distance(asked.Name, ref.Name)
	}
	if c.scope {
		if !Near(asked.Scope, ref.Scope) {
			return c, false
		}
		c.letters += Distance(asked.Scope, ref.Scope)
	}
	return c, c != cost{service: c.service} // the very object that was asked for isn't a suggestion
}
