// Package tracing follows a change from the request that made it to the containers that it starts, as OpenTelemetry
// spans.
//
// Most of what Tend does has no effect: a resync finds nothing to do, a status request reads. So a piece of work, a
// request or a reconcile, is a Work, and its span is exported only if it had an effect: a commit, a change of a
// container, an error. The borders to the store and the runtime report their effects with Step, as children of the
// work.
//
//	ctx, work := tracer.Work(ctx, object.Metadata.Trace.At(now), "reconcile deployment")
//	ctx, end := tracing.Step(ctx, "store.commit")   // a child, and the work is kept
//	end(err)
//	work.End(err)
//
// A span reaches the next reconcile, on whatever machine, in the record that led to it (api.Trace), which is followed
// for an hour. Between processes it travels in the header traceparent.
//
// A nil *Tracer is tracing that is off: it allocates nothing and starts nothing. The package never decides what is
// done.
package tracing
