// Package transition writes the Kubernetes Events of transitions of conditions, so that none is lost: a status that is written
// is all the record there is of them, and an operator that dies before it has written their Events leaves that to the next one.
//
// An Event has a name that the transition determines. The first time that a process sees an object, CatchUp writes those
// Events of its conditions that do not exist; from then on Record writes them as they come.
//
// Example:
//
//	recorder.CatchUp(ctx, object, kind, eventsOf(conditions))
//	… the status is written …
//	recorder.Record(ctx, object, kind, events)
package transition
