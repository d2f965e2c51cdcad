package simulation

import (
	"sync"
	"time"
)

// reach is a server's network connection to the store. The zero value has no delay.
type reach struct {
	mu     sync.Mutex
	healed chan struct{} // nil while the connection isn't cut
	takes  time.Duration
	// fatal counts the commits until the one during which the server dies; 0 for none. That commit is applied late.
	fatal int
	late  time.Duration
}

// cut blocks all calls until heal is called.
func (r *reach) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.healed == nil {
		r.healed = make(chan struct{})
	}
}

// slow makes each call take a time until heal is called.
func (r *reach) slow(takes time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takes = takes
}

// killAt kills the server in the middle of one of its next commits.
func (r *reach) killAt(commit int, late time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fatal, r.late = commit, late
}

func (r *reach) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.healed != nil {
		close(r.healed)
		r.healed = nil
	}
	r.takes, r.fatal = 0, 0
}

// well reports whether calls arrive at once, and none is fatal.
func (r *reach) well() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.healed == nil && r.takes == 0 && r.fatal == 0
}

// until returns a channel that is closed when the cut ends; nil if there is no cut.
func (r *reach) until() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.healed
}

// delay returns the time that a call takes to arrive.
func (r *reach) delay() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.takes
}

// dies counts a commit, and reports whether the server dies in its middle.
func (r *reach) dies() (late time.Duration, dies bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fatal == 0 {
		return 0, false
	}
	r.fatal--
	return r.late, r.fatal == 0
}
