package client

import (
	"context"
	"encoding/json"
	"net/http"

	"tend.dev/tend/api"
)

// Await returns the outcome of writes. With Since it answers when something has changed, or after a while: call it
// again.
func (c *Client) Await(ctx context.Context, asked api.AwaitRequest) (api.AwaitResult, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return api.AwaitResult{}, err
	}
	return call[api.AwaitResult](ctx, c, request{method: http.MethodPost, path: "/v1/await", body: body})
}
