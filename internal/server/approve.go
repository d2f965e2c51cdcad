package server

import (
	"context"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/verbs"
)

// approvalQuery names an operation, and says what is decided about it.
type approvalQuery struct {
	Scope  string `query:"scope"`
	Name   string `query:"name" required:"true"`
	Reason string `query:"reason" doc:"why, for the audit and the claim"`
	Valid  string `query:"valid" doc:"how long the approval is valid, 24h by default"`
	Deny   bool   `query:"deny"`
	// UID and Generation bind the decision to what the person saw.
	UID        string `query:"uid" doc:"the operation's metadata.uid, which an approval needs: another operation of the name is not approved"`
	Generation int64  `query:"generation" doc:"the generation that was seen, which an approval needs: another one is not approved"`
}

// approveOperation approves an operation, or ends it.
func (s *Server) approveOperation(ctx context.Context, in *approvalQuery) (api.VerbResult, error) {
	decided := verbs.Approval{Why: in.Reason, Deny: in.Deny, UID: in.UID, Generation: in.Generation}
	if in.Valid != "" {
		var err error
		if decided.Life, err = time.ParseDuration(in.Valid); err != nil {
			return api.VerbResult{}, badRequest("say how long, such as valid=24h", "valid=%s is not a duration", clip(in.Valid))
		}
	}
	result, err := s.Verbs.Approve(ctx, verbs.Target{Kind: api.KindOperation, Scope: in.Scope, Name: in.Name},
		decided, actorOf(ctx))
	s.settle(ctx, result.Revision)
	return result, err
}
