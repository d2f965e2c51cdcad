package records

import "context"

// Author identifies the origin of a change: the request, the user and the field manager.
type Author struct {
	// Verb is the request: apply, scale, …
	Verb string
	// Actor made the request: a user of the host, an address with a token, a plugin.
	Actor string
	// Manager is the field manager of the change.
	Manager string
}

type authorKey struct{}

// WithAuthor returns a context whose commits are the author's.
func WithAuthor(ctx context.Context, a Author) context.Context {
	return context.WithValue(ctx, authorKey{}, a)
}

// AuthorOf returns the author of a commit; the zero value is a controller.
func AuthorOf(ctx context.Context) Author {
	a, _ := ctx.Value(authorKey{}).(Author)
	return a
}
