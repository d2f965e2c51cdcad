package local

import (
	"maps"
	"slices"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/records"
)

// resolves reports whether the node is one of those that answer a request for an image.
func (c *Control) resolves(snap records.Snapshot, request api.ImageRequest) bool {
	asked, _ := imageask.Nodes(snap, request, c.node)
	return slices.Contains(asked, c.node)
}

// asked knows which nodes were asked for an image: they have to learn when they no longer are. The zero value is ready
// to use.
//
// What a node reads may be older than what is recorded by the time it has read. So each record has the revision that it
// follows from, and an older one never replaces a newer one. A record outlives its node's reads, and is kept without
// any for a node that is asked alone.
type asked struct {
	mu    sync.Mutex
	nodes map[api.Ref]map[string]standing
}

// standing holds what a node knows of whether it is asked.
type standing struct {
	// asked is the state last recorded, as of revision.
	asked    bool
	revision int64
	// reads are under way: they may not see the newest change.
	reads int
}

// knows reports whether the node surely knows that it is asked.
func (s standing) knows() bool { return s.asked && s.reads == 0 }

// begin records that a node reads whether it is asked. It must be called before the node reads, so no change comes
// between that it doesn't learn of.
func (a *asked) begin(owner api.Ref, node string) {
	a.change(owner, node, func(s *standing) { s.reads++ })
}

// end records what a node has read, as of a revision.
func (a *asked) end(owner api.Ref, node string, revision int64, asked bool) {
	a.change(owner, node, func(s *standing) {
		s.reads--
		s.learn(revision, asked)
	})
}

func (s *standing) learn(revision int64, asked bool) {
	if revision >= s.revision {
		s.revision, s.asked = revision, asked
	}
}

// change changes what is known of a node. What says nothing is not kept: once no read is under way, none can record
// what is older.
func (a *asked) change(owner api.Ref, node string, by func(*standing)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	is := a.nodes[owner][node]
	by(&is)
	if !is.asked && is.reads == 0 {
		delete(a.nodes[owner], node)
		if len(a.nodes[owner]) == 0 {
			delete(a.nodes, owner)
		}
		return
	}
	if a.nodes == nil {
		a.nodes = map[api.Ref]map[string]standing{}
	}
	if a.nodes[owner] == nil {
		a.nodes[owner] = map[string]standing{}
	}
	a.nodes[owner][node] = is
}

// renew records which nodes are asked for an image as of a revision, and returns what nodes knew before.
func (a *asked) renew(owner api.Ref, revision int64, now []string) (before map[string]standing) {
	a.mu.Lock()
	before = maps.Clone(a.nodes[owner])
	a.mu.Unlock()
	for node := range before {
		if !slices.Contains(now, node) {
			a.change(owner, node, func(s *standing) { s.learn(revision, false) })
		}
	}
	for _, node := range now {
		a.change(owner, node, func(s *standing) { s.learn(revision, true) })
	}
	return before
}

// askedFor returns the nodes that a change of the newest revision asks for an image, or no longer asks. If the request
// itself changed, those that it asks as before and those that have answered are among them.
func (s *Service) askedFor(owner api.Ref, requested bool) (out []string) {
	snap := s.snapshot()
	var now []string
	if request := snap.ImageRequest(owner); request.Exists() {
		var present bool
		if now, present = imageask.Nodes(snap, *request.Value, ""); !present {
			out = s.withoutHeartbeat(snap) // to itself, each of them is alive
		}
	}
	before := s.asked.renew(owner, snap.Revision(), now)
	for _, node := range now {
		if requested || !before[node].knows() {
			out = append(out, node)
		}
	}
	for node := range before {
		if !slices.Contains(now, node) {
			out = append(out, node)
		}
	}
	if requested {
		for _, status := range snap.ImageStatuses(owner) {
			out = append(out, status.Value.Node)
		}
	}
	return out
}
