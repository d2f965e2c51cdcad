package daemon

import (
	"context"
	"errors"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/server/clusterapi"
)

// newClusters creates the handler of requests from the operators of Kubernetes clusters.
func (d *daemon) newClusters() *clusterapi.Handler {
	return clusterapi.New(clusterapi.Options{
		Store: d.store, View: d.view, Fresh: verbs.FromView{Store: d.store, View: d.view}.Fresh,
		Leases: d.store, Seal: d.keys.Encrypt, Open: d.keys.Decrypt,
		MAC: d.keys.HMAC, Paused: d.pause.why,
		Audit: d.auditor.Record, Foreign: d.auditor.RecordForeign, Now: d.Now, Logger: d.Logger,
	})
}

// clusterLogs asks the operator of an object's cluster for the output of its pods, on behalf of an access token.
func (d *daemon) clusterLogs(
	ctx context.Context, token string, of api.Ref, asked pull.Query,
) (pull.Answer, error) {
	if d.nodeListener == nil {
		return pull.Answer{}, withoutListener()
	}
	return d.clusters.Ask(ctx, token, of, asked)
}

// withoutListener returns the error of a server that no operator can reach.
func withoutListener() error {
	return &api.Problem{Status: http.StatusConflict,
		Detail: "this server has no listener for nodes, which the operators of clusters use too",
		Next:   "start that server again with --node-listen :8688"}
}

// inviteCluster makes a token with which the operator of a cluster registers. It returns the token with the server's
// address and the keys for the operator; with newKeys it replaces those keys.
func (d *daemon) inviteCluster(
	ctx context.Context, name string, ttl time.Duration, newKeys bool,
) (api.ClusterRegistration, error) {
	made := api.ClusterRegistration{Cluster: name, ServerName: authority.ServerName}
	if d.nodeListener == nil {
		return made, withoutListener()
	}
	invite := d.clusters.Invite
	if newKeys {
		invite = d.clusters.InviteWithNewKeys
	}
	var err error
	made.Token, made.ExpiresAt, err = invite(ctx, name, ttl)
	if err == nil {
		made.JobKeys, made.ApprovalSecret, err = d.clusters.Keys(ctx, name)
	}
	if errors.Is(err, clusterapi.ErrNoCluster) {
		return made, &api.Problem{Status: http.StatusNotFound, Detail: "there is no cluster " + name,
			Next: "tend clusters add " + name + " declares it too"}
	}
	made.Address, made.Authority = d.nodeAddress(), string(d.nodeListener.desk.Authority.PEM())
	return made, err
}
