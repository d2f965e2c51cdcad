package access

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Grant holds a caller's rights.
type Grant struct {
	// Name is the name of the caller's token.
	Name string
	Role api.AccessRole
	// Scopes limits the caller to these scopes. An empty list means no limit.
	Scopes []string
	// Containers says that the caller is a client of a plugin which containers called. Name then says what they are.
	Containers bool
}

// Within returns the grant of a caller who acts for another one: the lesser role, in the scopes that both have. Without
// such a scope it allows nothing.
func (g Grant) Within(other Grant) Grant {
	out := other
	if rank(g.Role) < rank(other.Role) {
		out.Role = g.Role
	}
	switch {
	case !g.Limited():
	case !other.Limited():
		out.Scopes = g.Scopes
	default:
		out.Scopes = slices.DeleteFunc(slices.Clone(other.Scopes), func(scope string) bool { return !g.Covers(scope) })
		if len(out.Scopes) == 0 {
			out.Role = ""
		}
	}
	return out
}

// Limited reports whether the grant is for some scopes alone.
func (g Grant) Limited() bool { return g.Role != api.Admin && len(g.Scopes) > 0 }

// Covers reports whether the grant is for a scope.
func (g Grant) Covers(scope string) bool { return !g.Limited() || slices.Contains(g.Scopes, scope) }

// Only returns the one scope of a grant that is limited to one; else the empty text.
func (g Grant) Only() string {
	if g.Limited() && len(g.Scopes) == 1 {
		return g.Scopes[0]
	}
	return ""
}

// String describes the caller: alice is viewer of prod.
func (g Grant) String() string {
	if g.Containers {
		return g.Name
	}
	if len(g.Scopes) == 0 {
		return g.Name + " is " + string(g.Role)
	}
	return g.Name + " is " + string(g.Role) + " of " + strings.Join(g.Scopes, ", ")
}

// rank orders the roles; one that is not known is below all.
func rank(role api.AccessRole) int { return slices.Index(api.AccessRoles, role) }
