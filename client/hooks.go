package client

import (
	"context"
	"net/http"

	"tend.dev/tend/api"
)

// RunRelease runs the release command of the current release again.
func (c *Client) RunRelease(ctx context.Context, target Target) (api.RunResult, error) {
	return ask[api.RunResult](ctx, c, target, "run-release")
}

// Deliveries lists the webhook calls of an object, newest first: those in progress, and those that ended within the
// last hour.
func (c *Client) Deliveries(ctx context.Context, target Target) (api.ListResult[api.Delivery], error) {
	return call[api.ListResult[api.Delivery]](ctx, c,
		request{method: http.MethodGet, path: "/v1/deliveries", query: target.query()})
}
