package transition

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/apply"
)

// settles is the time after which a write without an answer is stored or never will be. The API server ends a request
// after a minute.
const settles = 2 * time.Minute

// outcome is that of writes of a status which may be stored: now, or later.
type outcome struct {
	// events holds the names of the Events that their transitions have.
	events map[string]bool
	until  time.Time
}

// Failed records an error of a write of an object's status, with the Events of its transitions. If the outcome is
// unknown, CatchUp looks at the stored conditions again, until a later write is stored. Nothing changes if the API
// server refused the write.
func (r *Recorder) Failed(object client.Object, events []Event, err error) {
	if !apply.Unknown(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unknown == nil {
		r.unknown = map[types.UID]outcome{}
	}
	is := outcome{events: map[string]bool{}, until: r.Now().Add(settles)}
	for name := range r.unknown[object.GetUID()].events {
		is.events[name] = true
	}
	for _, event := range events {
		is.events[nameOf(object, event.Condition)] = true
	}
	r.unknown[object.GetUID()] = is
}

// Knows reports whether this process has seen an object and knows the outcome of each write of its status. For another
// one, CatchUp looks at the conditions, and a cache may lack what is stored.
func (r *Recorder) Knows(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, open := r.unknown[uid]
	return r.known[uid] && !open
}

// look records that an object is seen. It reports whether it was known before, and which Events have transitions that
// may be stored.
func (r *Recorder) look(uid types.UID) (was bool, lost map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is, open := r.unknown[uid]
	if open && !r.Now().Before(is.until) {
		delete(r.unknown, uid)
	}
	was = r.known[uid] && !open
	r.know(uid)
	return was, is.events
}

// stored records that a write of an object's status is stored. An earlier one can't be stored any more: each write is
// for one version of the object.
func (r *Recorder) stored(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.unknown, uid)
	r.know(uid)
}

// know records that an object is known. The caller holds mu.
func (r *Recorder) know(uid types.UID) {
	if r.known == nil {
		r.known = map[types.UID]bool{}
	}
	r.known[uid] = true
}
