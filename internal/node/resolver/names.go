package resolver

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// The times for which answers are kept.
const (
	// fresh is the time for which a name's addresses are cached, or that the control plane doesn't answer.
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
	// err is set if it has not answered, and its last answer had no addresses.
	err error
}

// life returns the time for which an answer counts.
func (a answer) life() time.Duration {
	if a.Known || a.err != nil {
		return fresh
	}
	return unknown
}

// candidate reports whether a name may belong to a workload: two labels, or three with a zone. The control plane isn't
// asked for names in a public domain, which containers use while it is away too.
func candidate(name string) (zoned, ok bool) {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for _, zone := range api.Zones {
		if len(labels) > 1 && labels[len(labels)-1] == zone {
			return true, true
		}
	}
	return false, len(labels) == 2 && !api.ZonedAlone(labels[1])
}

// of returns the addresses of a name. While the control plane doesn't answer, the last addresses count; without any, of
// returns an error: the name may exist.
func (n *names) of(ctx context.Context, name string) (node.Names, error) {
	n.mu.Lock()
	last, kept := n.kept[name]
	n.mu.Unlock()
	if kept && n.now().Sub(last.at) < last.life() {
		return last.Names, last.err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := n.ask(ctx, name)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		if found = n.kept[name].Names; found.Known {
			err = nil
		}
	}
	n.keep(name, answer{found, n.now(), err})
	return found, err
}

// keep stores an answer. Names without addresses, of which anyone can ask many, make room for those with some. The
// caller holds mu.
func (n *names) keep(name string, next answer) {
	if n.kept[name] = next; len(n.kept) <= most {
		return
	}
	maps.DeleteFunc(n.kept, func(_ string, a answer) bool { return !a.Known })
	for other := range n.kept {
		if len(n.kept) <= most {
			break
		}
		delete(n.kept, other)
	}
}
