package records

import "context"

// Author is who made a change, and how.
type Author struct {
	// Verb is the request: apply, scale, …
	Verb string
	// Actor is who asked: a user of the host, an address with a token, a plugin.
	Actor string
	// Manager is the field manager that the change was made as.
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
