package client

import (
	"context"
	"net/http"
	"time"

	"tend.dev/tend/api"
)

// ApproveOptions are the options of an approval.
type ApproveOptions struct {
	// Reason is for the audit, and for the claim.
	Reason string
	// Valid is how long the approval is valid. Default: a day.
	Valid time.Duration
	// Deny ends the operation instead.
	Deny bool
}

// Approve approves an operation that waits for it, or ends it. Target's kind is ignored.
func (c *Client) Approve(ctx context.Context, target Target, opts ApproveOptions) (api.VerbResult, error) {
	valid := ""
	if opts.Valid != 0 {
		valid = opts.Valid.String()
	}
	return call[api.VerbResult](ctx, c, request{method: http.MethodPost, path: "/v1/operations/approve", query: queryWith(
		"scope", target.Scope, "name", target.Name, "reason", opts.Reason, "valid", valid, "deny", flag(opts.Deny))})
}
