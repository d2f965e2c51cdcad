package eventlog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Recorder is a store whose commits write the events of what they change, in the same transaction. Create it with
// Record.
type Recorder struct {
	store.Store
	snapshot func() *view.Snapshot
	now      func() time.Time
	// Published is called with the number of events of each successful commit. May be nil.
	Published func(events int)
}

// Record returns a Recorder in front of a store. snapshot returns the current view of the store, or nil if there is
// none yet: a record that it lacks is read from the store.
func Record(s store.Store, snapshot func() *view.Snapshot, now func() time.Time) *Recorder {
	return &Recorder{Store: s, snapshot: snapshot, now: now}
}

// Commit commits a transaction together with its events.
func (r *Recorder) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	if !concernsObjects(txn) {
		return r.Store.Commit(ctx, txn)
	}
	d := draft{Recorder: r, txn: txn, snap: r.snapshot()}
	events, err := d.events(ctx)
	if err != nil {
		return 0, fmt.Errorf("commit %s: %w", txn.Site, err)
	}
	if len(events) == 0 {
		return r.Store.Commit(ctx, txn)
	}
	op, err := d.op(events, records.AuthorOf(ctx))
	if err != nil {
		return 0, fmt.Errorf("commit %s: %w", txn.Site, err)
	}
	txn.Do = append(txn.Do[:len(txn.Do):len(txn.Do)], op)
	revision, err := r.Store.Commit(ctx, txn)
	if err == nil && r.Published != nil {
		r.Published(len(events))
	}
	return revision, err
}

func concernsObjects(txn store.Txn) bool {
	for _, op := range txn.Do {
		for _, prefix := range []string{
			records.DesiredPrefix, records.StatusPrefix, records.LabsPrefix, records.NodeStatesPrefix,
		} {
			if strings.HasPrefix(op.Key, prefix) {
				return true
			}
		}
	}
	return false
}

// draft collects the events of one transaction.
type draft struct {
	*Recorder
	txn  store.Txn
	snap *view.Snapshot
}

func (d *draft) events(ctx context.Context) ([]change.Event, error) {
	var out []change.Event
	for _, op := range d.txn.Do {
		var found []change.Event
		var err error
		switch {
		case strings.HasPrefix(op.Key, records.DesiredPrefix):
			found, err = d.object(ctx, op)
		case strings.HasPrefix(op.Key, records.StatusPrefix) && !op.Delete: // a status is deleted with its object
			found, err = d.status(ctx, op)
		case strings.HasPrefix(op.Key, records.LabsPrefix) && !op.Delete:
			found, err = d.orders(ctx, op)
		case strings.HasPrefix(op.Key, records.NodeStatesPrefix):
			found, err = d.node(ctx, op)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func (d *draft) object(ctx context.Context, op store.Op) ([]change.Event, error) {
	value, err := d.before(ctx, op.Key)
	if err != nil {
		return nil, err
	}
	old, _ := value.(*api.Object)
	if op.Delete {
		return change.Object(old, nil), nil
	}
	decoded, err := records.Decode(op.Key, op.Value)
	next, ok := decoded.(*api.Object)
	if err != nil || !ok {
		return nil, nil //nolint:nilerr // only objects make events; the store takes anything else as before
	}
	return change.Object(old, next), nil
}

func (d *draft) status(ctx context.Context, op store.Op) ([]change.Event, error) {
	ref, _, ok := records.ParseRef(strings.TrimPrefix(op.Key, records.StatusPrefix))
	if !ok {
		return nil, nil
	}
	about, err := d.before(ctx, records.ObjectKey(ref))
	if err != nil {
		return nil, err
	}
	object, ok := about.(*api.Object)
	if !ok {
		object = &api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name}
	}
	value, err := d.before(ctx, op.Key)
	if err != nil {
		return nil, err
	}
	old, err := encoded(value)
	if err != nil {
		return nil, err
	}
	return change.Status(*object, old, op.Value), nil
}

// orders returns the events of what people request for a lab: more time, or its end. It returns none if the lab doesn't
// exist.
func (d *draft) orders(ctx context.Context, op store.Op) ([]change.Event, error) {
	ref, _, ok := records.ParseRef(strings.TrimPrefix(op.Key, records.LabsPrefix))
	if !ok {
		return nil, nil
	}
	about, err := d.before(ctx, records.ObjectKey(ref))
	if err != nil {
		return nil, err
	}
	value, err := d.before(ctx, op.Key)
	if err != nil {
		return nil, err
	}
	decoded, err := records.Decode(op.Key, op.Value)
	object, isObject := about.(*api.Object)
	next, isOrders := decoded.(*api.LabOrders)
	if err != nil || !isObject || !isOrders {
		return nil, nil //nolint:nilerr // what can't be read makes no event; the store takes it as before
	}
	old, _ := value.(*api.LabOrders)
	return change.Orders(*object, old, next), nil
}

// node returns the events of a node's changes.
func (d *draft) node(ctx context.Context, op store.Op) ([]change.Event, error) {
	value, err := d.before(ctx, op.Key)
	if err != nil {
		return nil, err
	}
	var next *api.NodeState
	if !op.Delete {
		if decoded, err := records.Decode(op.Key, op.Value); err == nil {
			next, _ = decoded.(*api.NodeState)
		}
	}
	old, _ := value.(*api.NodeState)
	return change.Node(strings.TrimPrefix(op.Key, records.NodeStatesPrefix), old, next), nil
}

// before returns the record that a key has when the transaction is applied, which the transaction's condition names by
// revision. If the snapshot has another revision, the store is read; if that has another one too, the transaction will
// fail.
func (d *draft) before(ctx context.Context, key string) (any, error) {
	want, conditional := int64(0), false
	for _, c := range d.txn.If {
		if c.Key == key {
			want, conditional = c.Modified, true
		}
	}
	if conditional && want == 0 {
		return nil, nil
	}
	if d.snap != nil {
		if record, ok := d.snap.Get(key); ok && (!conditional || record.Modified == want) {
			return record.Value, nil
		}
	}
	entry, err := d.Get(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	value, err := records.Decode(key, entry.Value)
	if err != nil {
		return nil, nil //nolint:nilerr // a value that can't be read is replaced: there is nothing to compare with
	}
	return value, nil
}

// op returns the write of the events.
func (d *draft) op(events []change.Event, by records.Author) (store.Op, error) {
	now := d.now().UTC()
	value, err := encode(now, d.txn.Site, events, by)
	if err != nil {
		return store.Op{}, err
	}
	s := slot{at: now.UnixMilli(), salt: rand.Uint32(), subject: subjectHash(events[0].Data.Scope, events[0].Data.Name)}
	if d.snap != nil {
		s.known = d.snap.Revision()
	}
	for _, event := range events {
		if event.Data.Scope != events[0].Data.Scope || event.Data.Name != events[0].Data.Name {
			s.subject = anySubject
		}
	}
	return store.Op{Key: s.key(records.EventsPrefix), Value: value}, nil
}
