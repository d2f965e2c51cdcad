package sink

import (
	"sync"
	"time"

	"tend.dev/tend/api"
)

// The shortest time between two writes of a sink's progress, and between two where only the filter left events out.
const (
	saveEvery  = time.Second
	moveEvery  = time.Minute
	unhurried  = 0
	normal     = 1
	urgentSave = 2
)

// track says how far a sink is. Its pump changes it, a reconcile writes it to the store.
type track struct {
	wake func()

	mu      sync.Mutex
	now     api.SinkProgress
	version int64
	stored  int64
	savedAt time.Time
	// hurry is the greatest hurry of what is not stored.
	hurry int
	// woken is set while a reconcile is to come that knows of the hurry.
	woken int
}

// change changes the progress. Reconciles are asked for no more often than needed.
func (t *track) change(hurry int, fn func(*api.SinkProgress)) {
	t.mu.Lock()
	fn(&t.now)
	t.version++
	t.hurry = max(t.hurry, hurry)
	ask := t.hurry > t.woken
	t.woken = max(t.woken, t.hurry)
	t.mu.Unlock()
	if ask {
		t.wake()
	}
}

// due returns how long to wait until the progress is to be written. unsaved is false if there is nothing to write.
func (t *track) due(now time.Time) (wait time.Duration, unsaved bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version == t.stored {
		return 0, false
	}
	switch t.hurry {
	case urgentSave:
		return 0, true
	case unhurried:
		return moveEvery - now.Sub(t.savedAt), true
	}
	return saveEvery - now.Sub(t.savedAt), true
}

func (t *track) copy() (api.SinkProgress, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now, t.version
}

func (t *track) progress() api.SinkProgress {
	p, _ := t.copy()
	return p
}

// saved notes that a version is stored.
func (t *track) saved(version int64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stored, t.savedAt = version, now
	if t.version == version {
		t.hurry, t.woken = unhurried, unhurried
	}
}
