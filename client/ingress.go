package client

import (
	"context"
	"io"
	"net/http"

	"tend.dev/tend/api"
)

// Traffic says what becomes of an ingress's requests: "pause" has them wait, "maintenance" answers them with 503 and
// the message, "resume" lets them through again.
func (c *Client) Traffic(ctx context.Context, target Target, traffic, message string) (api.VerbResult, error) {
	target.Kind = api.KindIngress
	return ask[api.VerbResult](ctx, c, target, traffic, "message", message)
}

// Authority is the certificate of the cluster's own authority, in PEM: clients that trust it trust the certificates of
// ingresses with provider internal.
func (c *Client) Authority(ctx context.Context) ([]byte, error) {
	response, err := c.send(ctx, request{method: http.MethodGet, path: "/v1/ingress/ca"})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(io.LimitReader(response.Body, 1<<20))
}
