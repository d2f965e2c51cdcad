package local_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
	"tend.dev/tend/internal/store/records"
)

// TestOneNodeIsNotified: of many nodes, a request for an image concerns the one that is asked, and again when it is
// asked no more.
func TestOneNodeIsNotified(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	const nodes = 20
	var notices [nodes]atomic.Int32
	id := func(i int) string { return fmt.Sprint("worker-", i) }
	for i := range nodes {
		w.Commit(records.NewTxn("test").Put(records.AliveKey(id(i)), id(i)))
		w.Service.Node(id(i)).Subscribe(func(change node.Change) {
			if change.Image.Name == "web" {
				notices[i].Add(1)
			}
		})
	}
	notified := func() (out []int) {
		t.Helper()
		// Notifications come in the order of the commits: when this one has come, those of earlier ones have.
		done := make(chan struct{}, 1)
		last := w.Service.Node("last")
		defer last.Close()
		task := fmt.Sprint("last-", w.View.Revision())
		last.Subscribe(func(change node.Change) {
			if change.Task == task {
				select {
				case done <- struct{}{}:
				default:
				}
			}
		})
		w.Deploy(task, "last")
		<-done
		for i := range notices {
			if notices[i].Swap(0) > 0 {
				out = append(out, i)
			}
		}
		return out
	}
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	w.Commit(records.NewTxn("test").Put(records.ImageKey(web),
		api.ImageRequest{Owner: web, OwnerUID: "u1", Image: "web:1"}))
	first := notified()
	if len(first) != 1 || !w.Service.Node(id(first[0])).Image(web).Requested {
		t.Fatalf("%v were notified of the request", first)
	}
	w.Commit(records.NewTxn("test").Delete(records.AliveKey(id(first[0]))))
	if moved := notified(); len(moved) != 2 || !slices.Contains(moved, first[0]) {
		t.Errorf("%v were notified when node %d went away, want it and the one that takes over", moved, first[0])
	}
}
