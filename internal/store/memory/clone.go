package memory

import (
	"maps"
	"slices"
	"time"

	"tend.dev/tend/internal/store"
)

// Clone is a copy of the store as it is now, with a life of its own: a backup, or a data folder that was copied.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := New()
	newest := s.newestLocked()
	out.commits = slices.Clone(s.commits)
	out.commits[len(out.commits)-1] = commit{revision: newest.revision, events: newest.events, tree: newest.tree.Clone()}
	out.lastLease = s.lastLease
	for id, l := range s.leases {
		out.leases[id] = out.leaseFrom(id, l)
	}
	return out
}

// leaseFrom copies a lease, which begins anew.
func (s *Store) leaseFrom(id store.LeaseID, l *lease) *lease {
	return &lease{
		ttl: l.ttl, ends: time.Now().Add(l.ttl), keys: maps.Clone(l.keys), timer: time.AfterFunc(l.ttl, func() { s.expire(id) }),
	}
}
