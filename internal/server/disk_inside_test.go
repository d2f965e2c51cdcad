package server

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi"
)

// slowDisk is a node that measures its disk until done is closed.
type slowDisk struct {
	nodeapi.Node
	asked atomic.Int32
	done  chan struct{}
}

func (n *slowDisk) Disk(ctx context.Context, _ bool) (api.NodeDisk, error) {
	n.asked.Add(1)
	select {
	case <-n.done:
		return api.NodeDisk{SizeBytes: 5}, nil
	case <-ctx.Done():
		return api.NodeDisk{}, ctx.Err()
	}
}

// TestADiskIsMeasuredOnce: requests at once share one measurement, which goes on for the others when one of them ends.
func TestADiskIsMeasuredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := &slowDisk{done: make(chan struct{})}
		nodes := &nodeapi.Fleet{}
		nodes.Add("n1", node)
		s := &Server{Options: Options{Nodes: nodes}, closing: make(chan struct{})}
		leaves, leave := context.WithCancel(t.Context())
		gone := make(chan api.NodeDisk, 1)
		go func() { gone <- s.measure(leaves, "n1") }()
		synctest.Wait()
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if got := s.measure(t.Context(), "n1"); got.Node != "n1" || got.SizeBytes != 5 || got.Message != "" {
					t.Errorf("%+v", got)
				}
			})
		}
		synctest.Wait()
		leave()
		if got := <-gone; got.Message == "" {
			t.Errorf("the one that left got %+v", got)
		}
		close(node.done)
		wait.Wait()
		if asked := node.asked.Load(); asked != 1 {
			t.Errorf("the node was asked %d times at once", asked)
		}
		if s.measure(t.Context(), "n1"); node.asked.Load() != 2 {
			t.Error("a later request asks the node again")
		}
	})
}
