package client

import (
	"context"
	"io"
	"net/http"
)

// Authority returns the certificate of the cluster's own authority, in PEM: clients that trust it trust the
// certificates of ingresses with provider internal.
func (c *Client) Authority(ctx context.Context) ([]byte, error) {
	response, err := c.send(ctx, request{method: http.MethodGet, path: "/v1/ingress/ca"})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(io.LimitReader(response.Body, 1<<20))
}
