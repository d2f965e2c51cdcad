package resolver

import (
	"context"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// The times for which answers are kept.
const (
	// fresh is the time for which a name's addresses are cached.
	fresh = time.Second
	// unknown is the time for which the absence of a name is cached.
	unknown = 5 * time.Second
	// patience is the time for which a query waits for the control plane.
	patience = time.Second
	// most bounds the names that are kept.
	most = 4096
)

// names caches the control plane's answers about names.
type names struct {
	ask func(context.Context, string) (node.Names, error)
	now func() time.Time

	mu   sync.Mutex
	kept map[string]answer
}

// answer is a cached answer of the control plane, with its time.
type answer struct {
	node.Names
	at time.Time
}

// candidate reports whether a name may belong to a workload: two labels, or three with a zone.
func candidate(name string) (zoned, ok bool) {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for _, zone := range api.Zones {
		if len(labels) > 1 && labels[len(labels)-1] == zone {
			return true, true
		}
	}
	return false, len(labels) == 2
}

// of returns the addresses of a name. While the control plane doesn't answer, the last answer counts.
func (n *names) of(ctx context.Context, name string) node.Names {
	n.mu.Lock()
	last, known := n.kept[name]
	n.mu.Unlock()
	age := n.now().Sub(last.at)
	if known && (age < fresh || !last.Known && age < unknown) {
		return last.Names
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := n.ask(ctx, name)
	if err != nil {
		found = last.Names
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.kept) >= most {
		clear(n.kept)
	}
	n.kept[name] = answer{found, n.now()}
	return found
}
