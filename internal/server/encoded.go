package server

import (
	"encoding/json"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// encoded caches the newest events of watches as JSON: a thousand watches send the same events, most of them at the
// same moment. The zero value is ready to use.
type encoded struct {
	mu    sync.Mutex
	known map[eventKey][]byte
}

// eventKey identifies an event of an object by the revisions of all its parts.
type eventKey struct {
	ref                        api.Ref
	revision                   int64
	object, status, autoscaled int64
}

// maxEncoded bounds how many events are kept.
const maxEncoded = 256

// put returns the event at a revision that shows an object as a snapshot has it. It is shared: it must not be modified.
func (e *encoded) put(snap records.Snapshot, object records.Read[api.Object], revision int64) ([]byte, error) {
	ref := object.Value.Ref()
	status, _ := snap.Get(records.StatusKey(ref))
	key := eventKey{ref: ref, revision: revision, object: object.Modified, status: status.Modified,
		autoscaled: snap.AutoscaleStatus(ref).Modified}
	e.mu.Lock()
	defer e.mu.Unlock()
	if event, ok := e.known[key]; ok {
		return event, nil
	}
	shown := withStatus(snap, *object.Value)
	event, err := json.Marshal(api.WatchEvent{Type: api.WatchPut, Revision: revision, Object: &shown})
	if err != nil {
		return nil, err
	}
	if e.known == nil || len(e.known) >= maxEncoded {
		e.known = map[eventKey][]byte{}
	}
	e.known[key] = event
	return event, nil
}
