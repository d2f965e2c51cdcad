package client

import (
	"context"
	"strconv"
	"time"

	"tend.dev/tend/api"
)

// ApproveOptions are the options of an approval.
type ApproveOptions struct {
	// Reason is for the audit, and for the claim.
	Reason string
	// Valid is the time until the approval expires. Default: a day.
	Valid time.Duration
	// Deny ends the operation instead.
	Deny bool
	// UID and Generation are those of the operation that was seen: the approval of one that has changed since is refused.
	// An approval requires both. A denial without them applies to the present operation.
	UID        string
	Generation int64
}

// Approve approves an operation that waits for it, or denies it. Target's kind is ignored.
func (c *Client) Approve(ctx context.Context, target Target, opts ApproveOptions) (api.VerbResult, error) {
	valid := ""
	if opts.Valid != 0 {
		valid = opts.Valid.String()
	}
	generation := ""
	if opts.Generation != 0 {
		generation = strconv.FormatInt(opts.Generation, 10)
	}
	target.Kind = api.KindOperation
	return ask[api.VerbResult](ctx, c, target, "approve", "reason", opts.Reason, "valid", valid, "deny", flag(opts.Deny),
		"uid", opts.UID, "generation", generation)
}
