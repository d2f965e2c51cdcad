package client

import (
	"context"
	"time"

	"tend.dev/tend/api"
)

// InviteCluster makes a token with which the operator of a Kubernetes cluster registers, valid for a while. The cluster
// must be declared. With newKeys the cluster has other keys for jobs and approvals from now on.
func (c *Client) InviteCluster(
	ctx context.Context, name string, ttl time.Duration, newKeys bool,
) (api.ClusterRegistration, error) {
	return ask[api.ClusterRegistration](ctx, c, unscoped(api.KindCluster, name), "token",
		"ttl", ttl.String(), "new_keys", flag(newKeys))
}
