package records

import (
	"fmt"

	"tend.dev/tend/api"
)

// Trace sets the trace of the objects, tasks and image requests that the transaction writes; nil removes it.
func (t *Txn) Trace(trace *api.Trace) *Txn {
	for i, record := range t.traced {
		next := withTrace(record, trace)
		if next == nil {
			continue
		}
		op := &t.txn.Do[i]
		value, err := encode(next)
		if err != nil && t.err == nil {
			t.err = fmt.Errorf("encode %s: %w", op.Key, err)
		}
		op.Value = value
	}
	return t
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
