package simulation

import (
	"sync"
	"time"
)

// reach is a server's way to the store. The zero value has no delay.
type reach struct {
	mu     sync.Mutex
	healed chan struct{} // nil while it is not cut off
	takes  time.Duration
	// fatal counts the commits until one in whose middle the server dies; 0 for none. That one is applied late by so
	// much.
	fatal int
	late  time.Duration
}

// cut lets nothing through until heal is called.
func (r *reach) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.healed == nil {
		r.healed = make(chan struct{})
	}
}

// slow lets each call take so long until heal is called.
func (r *reach) slow(takes time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takes = takes
}

// killAt has the server die in the middle of one of its next commits.
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

// until returns what is closed when the cut ends; nil if there is none.
func (r *reach) until() chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.healed
}

// delay is the time that a call takes to arrive.
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
