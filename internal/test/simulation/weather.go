package simulation

import (
	"math/rand/v2"
	"sync"
	"time"
)

// weather holds the faults between the server and its store. The zero value has none.
type weather struct {
	mu sync.Mutex
	// random draws the fate of a commit.
	random *rand.Rand
	// unknown is the share of commits with an unknown outcome: some are never applied, some at once, some late.
	unknown float64
	// stalled is closed at the end of a stall; nil outside of one. Calls block meanwhile, and are applied then.
	stalled chan struct{}
	// full refuses all writes.
	full bool
	// lag is the delay with which the watch learns of a commit.
	lag time.Duration
	// deaf drops all heartbeats.
	deaf bool
	// late counts the commits on their way to the store.
	late sync.WaitGroup
}

// calm reports whether there are no faults.
func (f *weather) calm() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unknown == 0 && f.stalled == nil && !f.full && f.lag == 0 && !f.deaf
}

// clear ends all that is wrong.
func (f *weather) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unknown, f.full, f.lag, f.deaf = 0, false, 0, false
	if f.stalled != nil {
		close(f.stalled)
		f.stalled = nil
	}
}

// fate is the fate of one commit.
type fate struct {
	unanswered bool
	lost       bool
	late       time.Duration
}

func (f *weather) fateOf() (fate, chan struct{}, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stalled != nil || f.full {
		return fate{}, f.stalled, f.full
	}
	if f.unknown == 0 || f.random.Float64() >= f.unknown {
		return fate{}, nil, false
	}
	switch f.random.IntN(3) {
	case 0:
		return fate{unanswered: true, lost: true}, nil, false
	case 1:
		return fate{unanswered: true}, nil, false
	}
	return fate{unanswered: true, late: time.Duration(1+f.random.IntN(20_000)) * time.Millisecond}, nil, false
}

func (f fate) String() string {
	switch {
	case f.lost:
		return "it is lost"
	case f.late > 0:
		return "it is applied after " + f.late.String()
	}
	return "it is applied"
}
