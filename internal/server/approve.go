package server

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
)

// approveOperation approves an operation, or ends it.
func (s *Server) approveOperation(ctx context.Context, target verbs.Target, in approveQuery) (api.VerbResult, error) {
	decided := verbs.Approval{Why: in.Reason, Deny: in.Deny, UID: in.UID, Generation: in.Generation}
	if in.Valid != "" {
		var err error
		if decided.Life, err = time.ParseDuration(in.Valid); err != nil {
			return api.VerbResult{}, badRequest("say how long, such as valid=24h", "valid=%s is not a duration", clip(in.Valid))
		}
	}
	return s.Verbs.Approve(ctx, target, decided, actorOf(ctx))
}
