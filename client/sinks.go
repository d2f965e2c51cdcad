package client

import (
	"context"
	"net/http"
	"net/url"

	"tend.dev/tend/api"
)

// TestSink sends a test to the receiver of a sink, and returns what came back.
func (c *Client) TestSink(ctx context.Context, name string) (api.SinkTest, error) {
	return call[api.SinkTest](ctx, c,
		request{method: http.MethodPost, path: "/v1/sinks/" + url.PathEscape(name) + "/test"})
}
