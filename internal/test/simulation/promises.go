package simulation

import (
	"maps"
	"slices"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// promises are the pods that Tend reported as stopped for good, by object, until people request anything else of the
// object.
type promises struct {
	mu      sync.Mutex
	asked   map[api.Ref]int
	stopped map[api.Ref][]string
}

// ask records a request for an object, and returns the number of requests.
func (p *promises) ask(ref api.Ref) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		p.asked, p.stopped = map[api.Ref]int{}, map[api.Ref][]string{}
	}
	delete(p.stopped, ref)
	p.asked[ref]++
	return p.asked[ref]
}

// keep records pods that must stay stopped, unless another request came since.
func (p *promises) keep(ref api.Ref, asked int, pods []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked[ref] == asked {
		p.stopped[ref] = pods
	}
}

// forget drops the promises: an older store doesn't have them.
func (p *promises) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.stopped)
}

// kept requires that pods stopped for good don't run.
func (p *promises) kept(w *World) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pods := slices.Concat(slices.Collect(maps.Values(p.stopped))...)
	for _, c := range w.ours() {
		if c.State == runtime.StateRunning && slices.Contains(pods, c.Name) {
			w.fail("%s runs, although it was stopped for good and not started again", c.Name)
		}
	}
}
