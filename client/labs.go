package client

import (
	"context"
	"time"

	"tend.dev/tend/api"
)

// ExtendLabs extends the time of a lab, or of all labs of a class that have not ended. Target's kind is ignored.
func (c *Client) ExtendLabs(ctx context.Context, target Target, more time.Duration) (api.LabResult, error) {
	return ask[api.LabResult](ctx, c, labs(target), "extend", "for", more.String())
}

// StopLabs ends a lab, or all labs of a class that have begun, before their time is over. Target's kind is ignored.
func (c *Client) StopLabs(ctx context.Context, target Target) (api.LabResult, error) {
	return ask[api.LabResult](ctx, c, labs(target), "end")
}

func labs(target Target) Target {
	target.Kind = api.KindLab
	return target
}
