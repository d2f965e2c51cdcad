package client

import (
	"context"

	"tend.dev/tend/api"
)

// TestSink sends a test to the receiver of a sink, and returns the receiver's answer.
func (c *Client) TestSink(ctx context.Context, name string) (api.SinkTest, error) {
	return ask[api.SinkTest](ctx, c, unscoped(api.KindSink, name), "test")
}
