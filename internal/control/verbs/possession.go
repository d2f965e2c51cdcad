package verbs

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
)

type sentKey struct{}

// WithSent returns a context for a caller who sent the bytes of the digests that sent accepts.
func WithSent(ctx context.Context, sent func(digest string) bool) context.Context {
	return context.WithValue(ctx, sentKey{}, sent)
}

// mayUse reports whether a declarer may use the bytes of a digest: one who is trusted, who sent them, or who may read
// an object that refers to them. Files of assets without a scope are for all.
func (s *Service) mayUse(ctx context.Context, rights source.Rights, digest string) (bool, error) {
	if sent, ok := ctx.Value(sentKey{}).(func(digest string) bool); rights.Trusted || ok && sent(digest) {
		return true, nil
	}
	snap, err := s.opts.Reader.Fresh(ctx)
	if err != nil {
		return false, err
	}
	return snap.FileUsedIn(digest, func(scope string) bool { return scope == api.Unscoped || rights.Sees(scope) }), nil
}

// hasFile reports whether the bytes of a digest are there for a declarer, and keeps them for a while unless it is for a
// dry run.
func (s *Service) hasFile(ctx context.Context, rights source.Rights, digest string, dry bool) (bool, error) {
	if may, err := s.mayUse(ctx, rights, digest); err != nil || !may {
		return false, err
	}
	return s.opts.Assets.Has(digest, dry)
}
