package client

import (
	"context"
	"encoding/json"
	"net/http"

	"tend.dev/tend/api"
)

// Await returns the outcome of writes. With Since it answers when something has changed, or after a while: call it
// again. It asks about more than api.MaxApplyObjects in several requests, of which only the first one waits.
func (c *Client) Await(ctx context.Context, asked api.AwaitRequest) (api.AwaitResult, error) {
	rest := asked.Objects[min(len(asked.Objects), api.MaxApplyObjects):]
	asked.Objects = asked.Objects[:len(asked.Objects)-len(rest)]
	body, err := json.Marshal(asked)
	if err != nil {
		return api.AwaitResult{}, err
	}
	answer, err := call[api.AwaitResult](ctx, c, request{method: http.MethodPost, path: "/v1/await", body: body})
	if err != nil || len(rest) == 0 {
		return answer, err
	}
	more, err := c.Await(ctx, api.AwaitRequest{Objects: rest})
	answer.Outcomes = append(answer.Outcomes, more.Outcomes...)
	return answer, err
}
