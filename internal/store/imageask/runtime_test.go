package imageask_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestWhoIsAskedHasTheRuntime: of nodes of both kinds those that can run the pods, and where either can, one with
// containers first.
func TestWhoIsAskedHasTheRuntime(t *testing.T) {
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	found := func(node, runtime string) api.ImageStatus {
		return api.ImageStatus{Owner: web, Node: node, Image: "web:1", State: api.ImagePresent, Runtime: runtime}
	}
	failed := func(node, runtime string) api.ImageStatus {
		s := found(node, runtime)
		s.State = api.ImageFailed
		return s
	}
	for name, c := range map[string]struct {
		reason  string
		runtime string // the requested runtime
		answers []api.ImageStatus
		asked   []string
		present bool
	}{
		"either":            {"containers isolate", "", nil, []string{"d"}, false},
		"either, not there": {"it may be a folder", "", []api.ImageStatus{failed("d", "docker")}, []string{"d", "p"}, false},
		"containers":        {"", "containers", nil, []string{"d"}, false},
		"processes":         {"", "processes", nil, []string{"p"}, false},
		"containers, failed": {"a process node doesn't help", "containers", []api.ImageStatus{failed("d", "docker")},
			[]string{"d"}, false},
		"answered before": {"an answer of another kind doesn't count", "containers",
			[]api.ImageStatus{found("p", "process")}, []string{"d"}, false},
		"answered": {"", "containers", []api.ImageStatus{found("d", "docker")}, []string{"d"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			v := view.New(store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			done := make(chan error, 1)
			go func() { done <- v.Run(ctx) }()
			defer func() { cancel(); <-done; _ = store.Close() }()
			<-v.Synced()
			txn := records.NewTxn("test")
			for node, runtime := range map[string]string{"d": "docker", "p": "process"} {
				txn.Put(records.NodeKey(node),
					api.NodeStatus{ID: node, Runtime: runtime, Ready: true}).Put(records.AliveKey(node), node)
			}
			for _, answer := range c.answers {
				txn.Put(records.ImageStatusKey(answer.Node, web), answer)
			}
			revision, err := txn.Commit(ctx, store)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.WaitFor(ctx, revision); err != nil {
				t.Fatal(err)
			}
			snap := records.Snapshot{Reader: v.Snapshot()}
			asked, present := imageask.Nodes(snap, api.ImageRequest{Owner: web, Image: "web:1", Runtime: c.runtime}, "")
			if !slices.Equal(asked, c.asked) || present != c.present {
				t.Errorf("%s: asked %v, there %v; want %v, %v", c.reason, asked, present, c.asked, c.present)
			}
		})
	}
}
