package nodeapi

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

// Fleet holds the nodes that are connected to this server. The zero value is empty. It is safe for concurrent use.
type Fleet struct {
	mu    sync.RWMutex
	nodes map[string]Node
}

// Add adds a node until remove is called. A node that connects again replaces its earlier connection.
func (f *Fleet) Add(id string, n Node) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nodes == nil {
		f.nodes = map[string]Node{}
	}
	f.nodes[id] = n
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.nodes[id] == n {
			delete(f.nodes, id)
		}
	}
}

// Node returns the node with an id; node.ErrNotConnected if no such node is connected.
func (f *Fleet) Node(id string) (Node, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if n := f.nodes[id]; n != nil {
		return n, nil
	}
	if id == "" {
		return nil, fmt.Errorf("%w: it has no node yet", node.ErrNoPod)
	}
	return nil, fmt.Errorf("%s: %w", id, node.ErrNotConnected)
}

// Connected returns the ids of all nodes, in order.
func (f *Fleet) Connected() []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Sorted(maps.Keys(f.nodes))
}

// Placed is a pod and the node it is on.
type Placed struct{ Node, Pod string }

// Sample samples pods at once on their nodes, by Node.Stats or Node.Load, and returns the samples in the pods' order.
func (f *Fleet) Sample(
	ctx context.Context, pods []Placed, sample func(n Node, ctx context.Context, pods []string) []runtime.Usage,
) []runtime.Usage {
	places := map[string][]int{}
	for i, pod := range pods {
		places[pod.Node] = append(places[pod.Node], i)
	}
	out := make([]runtime.Usage, len(pods))
	var wait recovery.Group
	for id, indices := range places {
		n, err := f.Node(id)
		if err != nil {
			for _, i := range indices {
				out[i].Err = err
			}
			continue
		}
		names := make([]string, len(indices))
		for i, index := range indices {
			names[i] = pods[index].Pod
		}
		wait.Go(func() {
			var usages []runtime.Usage
			if err := recovery.Call(func() error { usages = sample(n, ctx, names); return nil }, "node", id); err != nil {
				usages = slices.Repeat([]runtime.Usage{{Err: err}}, len(indices))
			}
			for i, usage := range usages {
				out[indices[i]] = usage
			}
		})
	}
	wait.Wait()
	return out
}
