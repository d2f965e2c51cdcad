package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"tend.dev/tend/api"
)

// InviteCluster makes a token with which the operator of a Kubernetes cluster registers, valid for a while. The cluster
// must be declared. With newKeys the cluster has other keys for jobs and approvals from now on.
func (c *Client) InviteCluster(
	ctx context.Context, name string, ttl time.Duration, newKeys bool,
) (api.ClusterRegistration, error) {
	return call[api.ClusterRegistration](ctx, c,
		request{method: http.MethodPost, path: "/v1/clusters/" + url.PathEscape(name) + "/token",
			query: queryWith("ttl", ttl.String(), "new_keys", flag(newKeys))})
}
