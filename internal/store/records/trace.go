package records

import (
	"fmt"

	"tend.dev/tend/api"
)

// Trace sets the trace of the objects, tasks and image requests that the transaction writes; nil removes it.
func (t *Txn) Trace(trace *api.Trace) *Txn {
	for i, record := range t.written {
		if next := withTrace(record, trace); next != nil {
			t.rewrite(i, next)
		}
	}
	return t
}

// rewrite replaces the record that an operation writes.
func (t *Txn) rewrite(i int, record any) {
	op := &t.txn.Do[i]
	value, err := encode(record)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("encode %s: %w", op.Key, err)
	}
	op.Value, t.written[i] = value, record
}

// withTrace returns a record with a trace; nil if neither has one.
func withTrace(record any, trace *api.Trace) any {
	switch r := record.(type) {
	case api.Object:
		if r.Metadata.Trace != nil || trace != nil {
			r.Metadata.Trace = trace
			return r
		}
	case api.Task:
		if r.Trace != nil || trace != nil {
			r.Trace = trace
			return r
		}
	case api.ImageRequest:
		if r.Trace != nil || trace != nil {
			r.Trace = trace
			return r
		}
	}
	return nil
}
