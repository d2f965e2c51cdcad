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

// possession decides which bytes a declarer may use: one who is trusted those of all digests, others those that they
// sent, and those that an object they may read refers to. Files of assets without a scope are for all. One verb asks
// for all its digests, so that the store is read once, and only if it has to be.
type possession struct {
	service *Service
	rights  source.Rights
	// readable are the digests that an object the declarer may read refers to; nil before the store is read.
	readable map[string]bool
}

func (p *possession) mayUse(ctx context.Context, digest string) (bool, error) {
	if sent, ok := ctx.Value(sentKey{}).(func(digest string) bool); p.rights.Trusted || ok && sent(digest) {
		return true, nil
	}
	if p.readable == nil {
		snap, err := p.service.opts.Reader.Fresh(ctx)
		if err != nil {
			return false, err
		}
		p.readable = snap.FilesUsedBy(func(of api.Ref) bool { return of.Scope == api.Unscoped || p.rights.Sees(of.Scope) })
	}
	return p.readable[digest], nil
}

// hasFile reports whether the bytes of a digest are there for the declarer, and keeps them for a while unless it is for
// a dry run.
func (p *possession) hasFile(ctx context.Context, digest string, dry bool) (bool, error) {
	if may, err := p.mayUse(ctx, digest); err != nil || !may {
		return false, err
	}
	return p.service.opts.Assets.Has(digest, dry)
}
