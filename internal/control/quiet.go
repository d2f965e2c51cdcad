package control

import (
	"maps"
	"sync"
	"time"

	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
)

// Quiet remembers of keys that they needed nothing: by what was read to decide so, and until when that holds without a
// write. A pass over objects that have not changed then costs a few lookups for each. The zero value is ready to use.
//
// A pass finds what events missed, and still does: nothing here relies on a notice of a change. Each pass reads again,
// from the newest snapshot of the store, the revisions of everything that the answer came from, absent records and
// listings included, and decides again if one is another. A key that needs something is never remembered.
type Quiet struct {
	mu    sync.Mutex
	known map[reconciler.Key]*quiet
}

// quiet records that a key needs nothing from one instant until before another. A zero until means never.
type quiet struct {
	read        records.Footprint
	from, until time.Time
}

// Verdict has two answers: if a key needs a reconcile now, and when that may change without a write; zero means never.
type Verdict struct {
	Dirty bool
	Until time.Time
}

// Dirty returns the keys that have something to do, as Due does. judge must read all that it depends on, but the time,
// from the snapshot that it is given.
func (q *Quiet) Dirty(s records.Snapshot, keys []reconciler.Key, now time.Time,
	judge func(records.Snapshot, reconciler.Key, time.Time) Verdict,
) (out []reconciler.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known == nil {
		q.known = map[reconciler.Key]*quiet{}
	}
	rest := 0
	for _, key := range keys {
		if known := q.known[key]; known != nil && known.holds(s, now) {
			rest++
			continue
		}
		delete(q.known, key)
		next := &quiet{from: wall(now)}
		var verdict Verdict
		if isDue(key, func() bool { verdict = judge(s.Into(&next.read), key, now); return verdict.Dirty }) {
			out = append(out, key)
			continue
		}
		next.until = wall(verdict.Until)
		q.known[key] = next
		rest++
	}
	if len(q.known) > rest { // objects are gone
		q.keep(keys)
	}
	return out
}

// keep forgets all keys but some.
func (q *Quiet) keep(keys []reconciler.Key) {
	there := make(map[reconciler.Key]bool, len(keys))
	for _, key := range keys {
		there[key] = true
	}
	maps.DeleteFunc(q.known, func(key reconciler.Key, _ *quiet) bool { return !there[key] })
}

func (q *quiet) holds(s records.Snapshot, now time.Time) bool {
	now = wall(now)
	return !now.Before(q.from) && (q.until.IsZero() || now.Before(q.until)) && q.read.Holds(s)
}

// wall returns a time that is compared by the wall clock alone, as those in records are.
func wall(t time.Time) time.Time { return t.Round(0) }
