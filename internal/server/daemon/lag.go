package daemon

import (
	"context"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/platform/recovery"
)

// lagTime bounds how long the list of servers waits for the others' revisions.
const lagTime = time.Second

// serversAsked returns the servers of the cluster with their lag, as far as they answer.
func (d *daemon) serversAsked(ctx context.Context) api.Servers {
	out := d.servers()
	ctx, cancel := context.WithTimeout(ctx, lagTime)
	defer cancel()
	var mu sync.Mutex
	var asking recovery.Group
	revisions := map[string]int64{d.Name: d.view.Revision()}
	for _, s := range out.Items {
		if s.Name == d.Name || s.Address == "" || d.nodeListener == nil {
			continue
		}
		asking.Go(func() {
			config, err := d.asking(authority.Machine{}, "h2")
			if err != nil {
				return
			}
			if revision, err := peer.AskRevision(ctx, config, s.Address); err == nil {
				mu.Lock()
				defer mu.Unlock()
				revisions[s.Name] = revision
			}
		})
	}
	asking.Wait()
	return withLag(out, revisions)
}

// withLag fills in how many revisions each server is behind the newest one.
func withLag(servers api.Servers, revisions map[string]int64) api.Servers {
	newest := int64(0)
	for _, revision := range revisions {
		newest = max(newest, revision)
	}
	for i, s := range servers.Items {
		if revision, known := revisions[s.Name]; known {
			lag := newest - revision
			servers.Items[i].Lag = &lag
		}
	}
	return servers
}
