package server_test

import (
	"context"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// TestDisks: each node that is connected is asked, and named as it is, whatever it answers; one that is away says
// so. Only a prune removes anything.
func TestDisks(t *testing.T) {
	w := newWorld(t)
	w.put(records.NodeKey("n1"), api.NodeStatus{ID: "n1", Ready: true})
	w.put(records.NodeKey("n2"), api.NodeStatus{ID: "n2", Ready: true})
	var asked []bool
	w.containers.disk = func(prune bool) (api.NodeDisk, error) {
		asked = append(asked, prune)
		return api.NodeDisk{Node: "n2", Surplus: []api.SurplusImage{{Image: "web:1", Bytes: 5, Removed: prune}}}, nil
	}
	for name, tc := range map[string]struct {
		reason string
		ask    func(ctx context.Context) (api.ListResult[api.NodeDisk], error)
		prunes bool
	}{
		"df": {"it only looks", w.client.Disks, false},
		"dry run": {"so does a dry run",
			func(ctx context.Context) (api.ListResult[api.NodeDisk], error) { return w.client.Prune(ctx, true) }, false},
		"prune": {"it removes", func(ctx context.Context) (api.ListResult[api.NodeDisk],
			error) {
			return w.client.Prune(ctx, false)
		}, true},
	} {
		asked = nil
		got, err := tc.ask(t.Context())
		if err != nil || len(got.Items) != 2 || len(asked) != 1 || asked[0] != tc.prunes {
			t.Fatalf("%s: %s: %+v, %v, asked %v", name, tc.reason, got, err, asked)
		}
		here, away := got.Items[0], got.Items[1]
		if here.Node != "n1" || here.Reclaimable() != 5 || here.Surplus[0].Removed != tc.prunes || here.Message != "" {
			t.Errorf("%s: n1 is %+v", name, here)
		}
		if away.Node != "n2" || away.Message == "" {
			t.Errorf("%s: n2 is %+v", name, away)
		}
	}
}
