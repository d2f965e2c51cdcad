// Package transition writes Kubernetes Events for transitions of conditions without losing any. The written status is
// the only record of the transitions: if an operator dies before writing their Events, the next one writes them.
//
// An Event's name is determined by the transition. When a process first sees an object, CatchUp writes the missing
// Events of its conditions. From then on Record writes new ones. One that can't be written is kept: After has the
// object reconciled again, and CatchUp writes it then, also if the condition has changed meanwhile. After a write of
// the status without an answer, which Failed records, CatchUp looks at the stored conditions again.
//
// A condition that returns to a reason within the second of its transition, or without a change of its status, has one
// Event for all of these times, which counts them.
//
// Example:
//
//	recorder.CatchUp(ctx, object, kind, eventsOf(conditions))
//	… write the status …
//	recorder.Record(ctx, object, kind, events)
//	return reconcile.Result{RequeueAfter: recorder.After(object.GetUID(), planned)}, nil
package transition
