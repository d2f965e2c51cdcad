package recovery

import (
	"sync"
	"time"
)

// A panic that repeats at every pass is counted each time, and logged once every logEvery.
const (
	logEvery  = time.Minute
	mostKnown = 1000
)

var logged = quota{last: map[string]time.Time{}}

// quota limits how often a panic is logged.
type quota struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether the panic of a key was not logged within logEvery.
func (q *quota) due(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if last, known := q.last[key]; known && now.Sub(last) < logEvery {
		return false
	}
	if len(q.last) >= mostKnown {
		clear(q.last)
	}
	q.last[key] = now
	return true
}
