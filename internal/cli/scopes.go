package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/suggest"
)

// scopeHint says, behind a message, that a scope has no objects, and which scopes there are; empty if it has, or if
// none is asked for. Listing such a scope succeeds: a scope begins with its first object, and ends with its last.
func scopeHint(ctx context.Context, c *client.Client, scope string) string {
	scopes := scopesThere(ctx, c)
	if scope == "" || slices.Contains(scopes, scope) {
		return ""
	}
	text := "; there is nothing in " + scope
	if near := suggest.Nearest(scope, scopes); near != "" {
		return text + suggest.Behind(near)
	}
	return text + listOfScopes(scopes)
}

// nearScope returns the scope with objects that was probably meant; empty if the scope has objects, or none is near.
func nearScope(ctx context.Context, c *client.Client, scope string) string {
	scopes := scopesThere(ctx, c)
	if slices.Contains(scopes, scope) {
		return ""
	}
	return suggest.Nearest(scope, scopes)
}

// listOfScopes names scopes behind a message: the first ones of many.
func listOfScopes(scopes []string) string {
	const shown = 8
	switch more := len(scopes) - shown; {
	case len(scopes) == 0:
		return ""
	case more > 0:
		return "; the scopes are " + strings.Join(scopes[:shown], ", ") + fmt.Sprintf(" and %d more", more)
	case len(scopes) == 1:
		return "; the only scope is " + scopes[0]
	}
	return "; the scopes are " + strings.Join(scopes, ", ")
}
