//go:build linux

package process

import (
	"maps"
	"slices"
	"sync"
)

// shells holds the commands that run in containers, by container.
type shells struct {
	mu   sync.Mutex
	open map[string]map[*shell]struct{}
}

func (s *shells) add(id string, one *shell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]map[*shell]struct{}{}
	}
	if s.open[id] == nil {
		s.open[id] = map[*shell]struct{}{}
	}
	s.open[id][one] = struct{}{}
}

func (s *shells) remove(id string, one *shell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open[id], one)
	if len(s.open[id]) == 0 {
		delete(s.open, id)
	}
}

// end kills a container's commands.
func (s *shells) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open[id] {
		one.kill()
	}
}

// close kills the commands of all containers.
func (s *shells) close() {
	s.mu.Lock()
	ids := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, id := range ids {
		s.end(id)
	}
}
