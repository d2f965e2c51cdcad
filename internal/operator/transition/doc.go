// Package transition writes Kubernetes Events for transitions of conditions without losing any. The written status is
// the only record of the transitions: if an operator dies before writing their Events, the next one writes them.
//
// An Event's name is determined by the transition. When a process first sees an object, CatchUp writes the missing
// Events of its conditions. From then on Record writes new ones. One that can't be written is kept: After has the
// object reconciled again, and CatchUp writes it then, also if the condition has changed meanwhile.
//
// Example:
//
//	recorder.CatchUp(ctx, object, kind, eventsOf(conditions))
//	… write the status …
//	recorder.Record(ctx, object, kind, events)
//	return reconcile.Result{RequeueAfter: recorder.After(object.GetUID(), planned)}, nil
package transition
