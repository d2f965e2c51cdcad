package server

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/store/blob"
)

// holds returns an error, as if the file weren't there, unless the caller may use the bytes of a digest: an admin, one
// who sent them, and one who may read an object that refers to them. A digest alone gives no right: that of a published
// program is known to all.
func (s *Server) holds(ctx context.Context, digest string) error {
	of := s.account(ctx)
	if of == nil || of.has(digest) {
		return nil
	}
	snap, err := s.snapshot()
	if err == nil && !snap.FileUsedBy(digest, inScopes(callerOf(ctx).grant)) {
		err = blob.ErrNotFound
	}
	return err
}

// inScopes reports of an object whether it may be read; assets without a scope are for all.
func inScopes(g access.Grant) func(api.Ref) bool {
	return func(of api.Ref) bool { return of.Scope == api.Unscoped || g.Covers(of.Scope) }
}
