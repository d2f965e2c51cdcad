package control

import (
	"maps"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
)

// Quiet remembers of objects that they needed nothing: by what was read to decide so, and until when that holds without
// a write. A pass over objects that have not changed then costs a few lookups for each. The zero value is ready to use.
//
// A pass finds what events missed, and still does: nothing here relies on a notice of a change. Each pass reads again,
// from the newest snapshot of the store, the revisions of everything that the answer came from, absent records and
// listings included, and decides again if one is another. An object that needs something is never remembered.
type Quiet struct {
	mu    sync.Mutex
	known map[api.Ref]*quiet
}

// quiet is that an object needs nothing from one instant until before another; a zero until is never.
type quiet struct {
	object      int64 // its revision
	read        records.Footprint
	from, until time.Time
}

// Verdict is whether an object needs something now, and when that may change without a write; zero is never.
type Verdict struct {
	Dirty bool
	Until time.Time
}

// Dirty returns the keys of those objects of a kind that have something to do, as Due does. judge must read all that it
// depends on, but the time and the object, from the snapshot that it is given.
func (q *Quiet) Dirty(s records.Snapshot, kind api.Kind, now time.Time,
	judge func(records.Snapshot, records.Read[api.Object], time.Time) Verdict,
) []engine.Key {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known == nil {
		q.known = map[api.Ref]*quiet{}
	}
	var out []engine.Key
	rest := 0
	for object := range s.Objects(kind) {
		ref := object.Value.Ref()
		if known := q.known[ref]; known != nil && known.holds(s, object.Modified, now) {
			rest++
			continue
		}
		delete(q.known, ref)
		next := &quiet{object: object.Modified, from: wall(now)}
		var verdict Verdict
		if isDue(Key(ref), func() bool { verdict = judge(s.Into(&next.read), object, now); return verdict.Dirty }) {
			out = append(out, Key(ref))
			continue
		}
		next.until = wall(verdict.Until)
		q.known[ref] = next
		rest++
	}
	if len(q.known) > rest { // objects are gone
		maps.DeleteFunc(q.known, func(ref api.Ref, _ *quiet) bool { return !s.Object(ref).Exists() })
	}
	return out
}

func (q *quiet) holds(s records.Snapshot, object int64, now time.Time) bool {
	now = wall(now)
	return q.object == object && !now.Before(q.from) && (q.until.IsZero() || now.Before(q.until)) && q.read.Holds(s)
}

// wall returns a time that is compared by the wall clock alone, as those in records are.
func wall(t time.Time) time.Time { return t.Round(0) }
