package eventlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/delay"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// The bounds of an Auditor: waiting calls, calls in one commit, a caller's wait for room, the interval between retries
// of a commit, and the time for the last commits after the end.
const (
	auditWaiting = 4096
	auditBatch   = 128
	// auditBytes is the approximate maximal size of one commit: a call may list many objects.
	auditBytes = 512 << 10
	auditRoom  = time.Second
	auditTries = 8
	auditEnd   = 5 * time.Second
)

// foreignEvery is the period whose calls without a token make one record, so that they can't push others out of the
// log.
const foreignEvery = time.Minute

// Auditor writes calls to the audit log. Callers don't wait for the store: a server that is killed may lose the calls
// of its last moment, one that stops loses none.
type Auditor struct {
	// Store receives the commits.
	Store records.Committer
	// Revision returns a recent revision of the store.
	Revision func() int64
	Now      func() time.Time
	Logger   *slog.Logger

	waiting chan *audited
	foreign chan api.AuditData
	bounded bounded
}

// audited is a call that waits to be written, with its time.
type audited struct {
	at   time.Time
	data api.AuditData
}

// NewAuditor returns an Auditor; its Run writes the recorded calls.
func NewAuditor(s records.Committer, revision func() int64, now func() time.Time, logger *slog.Logger) *Auditor {
	return &Auditor{Store: s, Revision: revision, Now: now, Logger: logger,
		waiting: make(chan *audited, auditWaiting), foreign: make(chan api.AuditData, 1)}
}

// Record queues a call. If very many wait, it waits for room, and as a last resort writes the call to the server's log.
// It records a refused call like RecordBounded does.
func (a *Auditor) Record(data api.AuditData) {
	if isRefused(data) {
		a.RecordBounded(data)
		return
	}
	a.queue(data)
}

// RecordBounded queues a call that an actor could repeat to fill the log: beyond a bound, the equal calls of a minute
// become one record with their count.
func (a *Auditor) RecordBounded(data api.AuditData) {
	if a.bounded.admit(data) {
		a.queue(data)
	}
}

func (a *Auditor) queue(data api.AuditData) {
	call := &audited{a.Now().UTC(), data}
	select {
	case a.waiting <- call:
		return
	default:
	}
	timer := time.NewTimer(auditRoom)
	defer timer.Stop()
	select {
	case a.waiting <- call:
	case <-timer.C:
		a.lost([]audited{*call}, errors.New("too many calls wait"))
	}
}

// RecordForeign counts a call without a token. The calls of a minute become one record: the first one, and their
// number.
func (a *Auditor) RecordForeign(data api.AuditData) {
	data.Count = 1
	select {
	case a.foreign <- data:
	case first := <-a.foreign:
		first.Count++
		a.merge(first)
	}
}

// merge adds a count back that couldn't be recorded.
func (a *Auditor) merge(data api.AuditData) {
	for {
		select {
		case a.foreign <- data:
			return
		case other := <-a.foreign:
			data.Count += other.Count
		}
	}
}

// Run writes calls until ctx ends, and then those that still wait.
func (a *Auditor) Run(ctx context.Context) error {
	writing, end := outlasting(ctx)
	defer end()
	ticker := time.NewTicker(foreignEvery)
	defer ticker.Stop()
	for {
		select {
		case call := <-a.waiting:
			a.write(writing, a.gather(*call))
		case <-ticker.C:
			a.takeForeign(writing)
			a.takeFolded(writing)
		case <-ctx.Done():
			a.finish(writing)
			return ctx.Err()
		}
	}
}

// outlasting returns a context that ends some seconds after ctx: a call that is being written then is written.
func outlasting(ctx context.Context) (context.Context, func()) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(auditEnd, cancel) })
	return out, func() { stop(); cancel() }
}

// finish writes the calls that still wait.
func (a *Auditor) finish(ctx context.Context) {
	a.takeForeign(ctx)
	a.takeFolded(ctx)
	for {
		select {
		case call := <-a.waiting:
			a.write(ctx, a.gather(*call))
		default:
			return
		}
	}
}

func (a *Auditor) takeForeign(ctx context.Context) {
	select {
	case data := <-a.foreign:
		a.write(ctx, []audited{{a.Now().UTC(), data}})
	default:
	}
}

// gather adds the calls that wait already.
func (a *Auditor) gather(first audited) []audited {
	out, room := []audited{first}, auditBytes-weight(first.data)
	for len(out) < auditBatch && room > 0 {
		select {
		case call := <-a.waiting:
			out = append(out, *call)
			room -= weight(call.data)
		default:
			return out
		}
	}
	return out
}

// weight returns the approximate size of a call in bytes.
func weight(data api.AuditData) int {
	const fields = 512
	bytes := fields
	for _, object := range data.Objects {
		bytes += len(object)
	}
	return bytes
}

// write commits calls as one entry under the condition that its key is new: if an attempt without an answer was
// applied, the next one conflicts, so no call is recorded twice.
func (a *Auditor) write(ctx context.Context, calls []audited) {
	op, err := a.op(calls)
	for try := 0; err == nil && try < auditTries; try++ {
		if try > 0 {
			err = delay.For(ctx, time.Duration(try)*100*time.Millisecond)
		}
		if err != nil {
			break
		}
		_, err = a.Store.Commit(ctx, store.Txn{Site: "audit", If: []store.Condition{{Key: op.Key}}, Do: []store.Op{op}})
		if err == nil || errors.Is(err, store.ErrConflict) {
			return
		}
		if errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrPaused) || errors.Is(err, store.ErrNoSpace) {
			break
		}
		if try < auditTries-1 {
			err = nil
		}
	}
	a.lost(calls, err)
}

// lost writes calls that the store refused to the server's log.
func (a *Auditor) lost(calls []audited, err error) {
	for _, call := range calls {
		a.Logger.Warn("a call is not in the audit", "method", call.data.Method, "path", call.data.Path,
			"actor", call.data.Actor,
			"status", call.data.Status, "since", call.at, "error", err)
	}
}

// op returns the write of one entry with the calls.
func (a *Auditor) op(calls []audited) (store.Op, error) {
	e := entry{Time: calls[0].at, Events: make([]stored, len(calls))}
	s := slot{known: a.Revision(), at: calls[0].at.UnixMilli(), salt: rand.Uint32(), subject: anySubject}
	if one := calls[0].data; len(calls) == 1 && one.Scope != "" && one.Name != "" && len(one.Objects) == 0 {
		s.subject = subjectHash(one.Scope, one.Name)
	}
	for i, call := range calls {
		raw, err := json.Marshal(call.data)
		if err != nil {
			return store.Op{}, fmt.Errorf("encode a call: %w", err)
		}
		e.Events[i] = stored{Type: api.AuditType, Subject: call.data.Path, Data: raw}
		if !call.at.Equal(e.Time) {
			e.Events[i].Time = &call.at
		}
	}
	value, err := json.Marshal(e)
	return store.Op{Key: s.key(records.AuditPrefix), Value: value}, err
}
