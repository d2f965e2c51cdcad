package local_test

import (
	"sync/atomic"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
	"tend.dev/tend/internal/store/records"
)

// TestAMovedTaskMovesItsRequest: a node that runs the pods of an object is asked for its image. Where they move before
// that node has read the request, the next one is notified.
func TestAMovedTaskMovesItsRequest(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	nodes := []string{"worker-1", "worker-2"}
	var notices [2]atomic.Int32
	for i, id := range nodes {
		w.Commit(records.NewTxn("test").Put(records.AliveKey(id), id))
		w.Service.Node(id).Subscribe(func(change node.Change) {
			if change.Image.Name == "web" {
				notices[i].Add(1)
			}
		})
	}
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	w.Commit(records.NewTxn("test").Put(records.ImageKey(web),
		api.ImageRequest{Owner: web, OwnerUID: "u1", Image: "web:1"}))
	other := 0
	for i := range nodes {
		if !w.Service.Node(nodes[i]).Image(web).Requested {
			other = i
		}
	}
	notices[other].Store(0)
	done := make(chan struct{}, 8)
	last := w.Service.Node("last")
	defer last.Close()
	last.Subscribe(func(change node.Change) {
		if change.Task != "" {
			done <- struct{}{}
		}
	})
	w.Commit(records.NewTxn("test").CreateTask(api.Task{ID: "t1", Kind: web.Kind, Scope: web.Scope, Name: web.Name,
		OwnerUID: "u1", Slot: "s1", Release: "v1",
		Class: api.ClassKeep, Node: nodes[other], Desired: api.DesiredRunning}))
	w.Deploy("last", "last")
	<-done
	if !w.Service.Node(nodes[other]).Image(web).Requested || notices[other].Load() == 0 {
		t.Errorf("%s runs a pod of it now, and was notified %d times", nodes[other], notices[other].Load())
	}
}
