package transition

import (
	"context"
	"slices"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// retry is the time until the next attempt to write an Event. The attempts end after life.
	retry = 30 * time.Second
	// maxMissing bounds the missing Events of an object. The oldest are dropped.
	maxMissing = 50
)

// After returns the time until the next reconcile of an object, zero for never. It is planned, or less if an Event is
// missing: nothing else may ever happen to the object.
func (r *Recorder) After(uid types.UID, planned time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.missing[uid]) == 0 || planned > 0 && planned < retry {
		return planned
	}
	return retry
}

// Gone drops everything about an object that is deleted.
func (r *Recorder) Gone(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, uid)
	delete(r.missing, uid)
}

// take returns the missing Events of an object that are young enough to be written, and drops all.
func (r *Recorder) take(uid types.UID) []*eventsv1.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.missing[uid]
	delete(r.missing, uid)
	return slices.DeleteFunc(all, func(e *eventsv1.Event) bool { return r.Now().Sub(e.EventTime.Time) >= life })
}

// note keeps an Event that could not be written: the next status may not show its transition any more. The reconcile
// continues: the conditions matter more.
func (r *Recorder) note(ctx context.Context, event *eventsv1.Event, err error) {
	if err == nil || apierrors.IsAlreadyExists(err) {
		return
	}
	log.FromContext(ctx).Info("an Event can't be written; it is retried", "error", err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missing == nil {
		r.missing = map[types.UID][]*eventsv1.Event{}
	}
	all := r.missing[event.Regarding.UID]
	if slices.ContainsFunc(all, func(e *eventsv1.Event) bool { return e.Name == event.Name }) {
		return
	}
	all = append(all, event)
	r.missing[event.Regarding.UID] = all[max(0, len(all)-maxMissing):]
}
