package cluster

import (
	"context"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/cluster"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// clusters writes the status of clusters. A cluster that falls silent is found by the pass over all of them.
type clusters struct {
	control.Reporter[api.ClusterStatus]
}

func newClusters(deps control.Deps) *clusters {
	return &clusters{control.Reporter[api.ClusterStatus]{Deps: deps.Defaults(), Kind: api.KindCluster, Status: clusterStatus}}
}

func clusterStatus(s records.Snapshot, object records.Read[api.Object], before api.ClusterStatus, now time.Time) api.ClusterStatus {
	name := object.Value.Name
	return cluster.Status(*object.Value, object.Modified, s.ClusterAccess(name).Value, s.ClusterContact(name).Value, before, now)
}

// Affected returns the cluster that changed, or that was heard of.
func (c *clusters) Affected(s records.Snapshot, change view.Change) []engine.Key {
	for _, prefix := range []string{records.ClusterAccessPrefix, records.ActualClusterPrefix} {
		if name, found := strings.CutPrefix(change.Key, prefix); found {
			return []engine.Key{control.Key(api.Ref{Kind: api.KindCluster, Scope: api.Unscoped, Name: name})}
		}
	}
	return c.Reporter.Affected(s, change)
}

// Reconcile writes the status of one cluster. Of one that is gone it removes the tokens and the contact too.
func (c *clusters) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	s, ref := c.Snapshot(), api.Ref{Kind: api.KindCluster, Scope: key.Scope, Name: key.Name}
	if s.Object(ref).Exists() {
		return c.Reporter.Reconcile(ctx, key)
	}
	access, contact := s.ClusterAccess(ref.Name), s.ClusterContact(ref.Name)
	status, _ := s.Get(records.StatusKey(ref))
	txn := records.NewTxn("cluster.forget")
	if access.Exists() || contact.Exists() || status.Modified != 0 {
		txn.If(records.ObjectKey(ref), 0).If(records.StatusKey(ref), status.Modified)
		txn.Delete(records.StatusKey(ref)).Delete(records.ClusterAccessKey(ref.Name)).Delete(records.ClusterContactKey(ref.Name))
	}
	revision, err := c.Commit(ctx, txn, records.StatusKey(ref))
	return engine.Result{Revision: revision}, err
}
