package daemon

import (
	"errors"
	"slices"
	"sync"
	"time"

	"tend.dev/tend/api"
)

// sources orders the servers from which files are copied. A server that failed is asked after those that did not, so
// that one that is silent delays only files that no other server has. The zero value is ready.
type sources struct {
	mu sync.Mutex
	// failed is when each server failed last, unless it has answered since.
	failed map[string]time.Time
}

// order sorts addresses into the order in which they are asked.
func (s *sources) order(addresses []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(addresses, func(a, b string) int { return s.failed[a].Compare(s.failed[b]) })
	return addresses
}

// note records the outcome of a copy. A refusal is an answer.
func (s *sources) note(address string, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, refused := errors.AsType[*api.Problem](err); err == nil || refused {
		delete(s.failed, address)
		return
	}
	if s.failed == nil {
		s.failed = map[string]time.Time{}
	}
	s.failed[address] = now
}
