package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"tend.dev/tend/api"
)

// InviteCluster makes a token with which the operator of a Kubernetes cluster registers, valid for a while. The cluster must be
// declared.
func (c *Client) InviteCluster(ctx context.Context, name string, ttl time.Duration) (api.ClusterRegistration, error) {
	return call[api.ClusterRegistration](ctx, c, request{method: http.MethodPost, path: "/v1/clusters/" + url.PathEscape(name) + "/token", query: queryWith("ttl", ttl.String())})
}
