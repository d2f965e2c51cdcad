package view

import (
	"fmt"

	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
)

// staged is a prepared event: decoded and with its index values, or without a record if readers shouldn't see it.
type staged struct {
	key     string
	deleted bool
	// record is nil if the key is to be kept out.
	record *Record
	values [][]string
}

// feed handles one commit from the watch.
func (v *View) feed(batch store.Batch) {
	if batch.Revision <= v.Revision() {
		return
	}
	changed := make([]staged, 0, len(batch.Events))
	for _, event := range batch.Events {
		if !v.aside(event) {
			changed = append(changed, v.stage(event))
		}
	}
	v.reached(batch.Revision)
	v.install(batch.Revision, changed)
}

// stage decodes an event. A value that doesn't decode is logged once, until the key decodes again or is deleted.
func (v *View) stage(event store.Event) staged {
	key := event.Key
	if event.Deleted {
		delete(v.undecodable, key)
		return staged{key: key, deleted: true}
	}
	ready, err := v.decode(event.Entry)
	if err == nil {
		delete(v.undecodable, key)
		return ready
	}
	if _, known := v.undecodable[key]; !known {
		v.options.Logger.Error("a stored value can't be read and is left out", "store_key", key, "revision",
			event.Modified, "error", err)
	}
	v.undecodable[key] = event.Modified
	return staged{key: key}
}

// decode also recovers from a decoder or an index that panics on a value: one bad record must not affect the rest.
func (v *View) decode(entry store.Entry) (ready staged, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decode %s: panic: %v", entry.Key, p)
		}
	}()
	value, err := v.options.Decode(entry.Key, entry.Value)
	if err != nil {
		return staged{}, err
	}
	ready = staged{key: entry.Key}
	if value == nil {
		return ready, nil
	}
	ready.record = &Record{Key: entry.Key, Value: value, Created: entry.Created, Modified: entry.Modified}
	for _, index := range v.options.Indexes {
		ready.values = append(ready.values, index.Keys(entry.Key, value))
	}
	return ready, nil
}

// install applies one commit to v.draft and publishes it.
func (v *View) install(revision int64, commit []staged) {
	changes := make([]Change, 0, len(commit))
	for _, s := range commit {
		change := Change{Revision: revision, Key: s.key, Deleted: s.deleted}
		var old *Record
		if s.record == nil {
			old = v.draft.remove(s.key)
		} else {
			old = v.draft.put(s.record, s.values)
			change.New = s.record.Value
		}
		if old != nil {
			change.Old = old.Value
		}
		if change.Old != nil || change.New != nil {
			changes = append(changes, change)
		}
	}
	v.publish(revision, changes)
}

// publish publishes a commit: first the snapshot, then to watches, to listeners, and at last to those that wait for it.
func (v *View) publish(revision int64, changes []Change) {
	first := v.Revision() == 0
	v.mu.Lock()
	if first {
		v.history.begin(revision)
	} else if len(changes) > 0 {
		v.history.add(commit{revision, changes})
	}
	v.current.Store(v.draft.snapshot(revision, v.history))
	if first {
		v.watches.begin(revision)
	} else if len(changes) > 0 {
		v.watches.offer(commit{revision, changes})
	}
	listeners := v.listeners
	v.mu.Unlock()
	defer v.wake(revision)
	if first {
		close(v.synced)
		return
	}
	for _, change := range changes {
		for _, l := range listeners {
			_ = recovery.Call(func() error { l.fn(change); return nil }, "store_key", change.Key)
		}
	}
}
