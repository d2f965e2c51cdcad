package transition

import (
	"context"
	"slices"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"tend.dev/tend/internal/operator/identity"
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
	delete(r.unknown, uid)
	delete(r.missing, uid)
}

// take returns the missing Events of an object that are young enough to be written, and drops all.
func (r *Recorder) take(uid types.UID) []pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.missing[uid]
	delete(r.missing, uid)
	return slices.DeleteFunc(all, func(e pending) bool { return r.Now().Sub(e.EventTime.Time) >= life })
}

// pending is an Event to write.
type pending struct {
	*eventsv1.Event
	// counts is set if this process wrote the transition: if the condition had this reason before, and so its Event
	// exists, that one is repeated. Otherwise the stored Events show whether the transition has one.
	counts bool
}

// write writes an Event, or keeps it: the next status may not show its transition any more. The reconcile continues:
// the conditions matter more. Events of one condition are written in their order.
func (r *Recorder) write(ctx context.Context, event pending, stored *recorded) {
	switch newest := r.newest(event); {
	case newest == "":
		err := r.try(ctx, event, stored)
		if err == nil {
			return
		}
		log.FromContext(ctx).Info("an Event can't be written; it is retried", "error", err)
	case newest == event.Name && !event.counts:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missing == nil {
		r.missing = map[types.UID][]pending{}
	}
	all := r.missing[event.Regarding.UID]
	r.missing[event.Regarding.UID] = append(all[max(0, len(all)-maxMissing+1):], event)
}

// newest returns the name of the newest missing Event of the same condition, or nothing.
func (r *Recorder) newest(event pending) (name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.missing[event.Regarding.UID] {
		if isSameCondition(p.Event, event.Event) {
			name = p.Name
		}
	}
	return name
}

// try writes an Event once, also if the answer to an earlier attempt was lost.
func (r *Recorder) try(ctx context.Context, event pending, stored *recorded) error {
	if !event.counts {
		if is, err := stored.has(ctx, event.Event); err != nil || is {
			return err
		}
	}
	made := event.DeepCopy()
	err := r.create(ctx, made)
	if apierrors.IsAlreadyExists(err) {
		made, err = r.repeat(ctx, event.Event)
	}
	if err == nil {
		stored.put(made)
	}
	return err
}

// repeat counts one transition more in a stored Event, unless it is counted already.
func (r *Recorder) repeat(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	stored := &eventsv1.Event{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(event), stored); err != nil {
		return nil, err
	}
	next, count := stored.DeepCopy(), int32(1)
	if stored.Series != nil {
		count = stored.Series.Count
	}
	if !last(stored).Before(&event.EventTime) {
		return stored, nil
	}
	next.Series = &eventsv1.EventSeries{Count: count + 1, LastObservedTime: event.EventTime}
	return next, r.Client.Patch(
		ctx, next, client.MergeFrom(stored), client.DisableReadYourWritesConsistency,
		client.FieldOwner(identity.FieldManager),
	)
}

// last returns the time of the last transition of an Event.
func last(event *eventsv1.Event) *metav1.MicroTime {
	if event.Series != nil {
		return &event.Series.LastObservedTime
	}
	return &event.EventTime
}
