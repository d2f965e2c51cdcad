package api

import "time"

// Trace names the span of an OpenTelemetry trace in which a record was written, so that who acts on the record can go
// on with the trace. It is absent where tracing is off.
type Trace struct {
	// Parent is the span in the form of the W3C header traceparent.
	Parent string `json:"parent"`
	// At is the time of the write. The trace is followed for an hour.
	At time.Time `json:"at"`
}
