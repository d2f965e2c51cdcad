package transition

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/identity"
)

// life is the time for which the API server keeps an Event. Older transitions are not written again.
const life = time.Hour

// Event is a transition of a condition, for people.
type Event struct {
	// Warning says that the transition reports a fault.
	Warning bool
	// Reason and Message are those of the Event.
	Reason, Message string
	// Condition is the condition after the transition. For an Event without a condition, its type and time identify the
	// Event.
	Condition metav1.Condition
}

// Recorder writes Events. It is safe for concurrent use.
type Recorder struct {
	// Client writes, and Live reads from the API server. Required.
	Client client.Client
	Live   client.Reader
	// Reporter is the controller's name. Required.
	Reporter string
	// ClusterID returns the identity of the cluster. Default: Events have no label for it.
	ClusterID func(context.Context) (string, error)
	// Now returns the time. Required.
	Now func() time.Time

	mu    sync.Mutex
	known map[types.UID]bool
	// unknown holds the writes of statuses with an unknown outcome, by the object.
	unknown map[types.UID]outcome
	// missing holds the Events that could not be written, the oldest first.
	missing map[types.UID][]pending
}

// CatchUp writes the Events that could not be written before. If this process sees the object for the first time, or
// the outcome of a write of its status is unknown, it also writes the missing Events of the stored conditions.
func (r *Recorder) CatchUp(ctx context.Context, object client.Object, kind schema.GroupVersionKind, events []Event) {
	stored := &recorded{live: r.Live}
	for _, event := range r.take(object.GetUID()) {
		r.write(ctx, event, stored)
	}
	seen, lost := r.look(object.GetUID())
	if seen {
		return
	}
	for _, event := range events {
		young := r.Now().Sub(event.Condition.LastTransitionTime.Time) < life
		if young || lost[nameOf(object, event.Condition)] {
			r.write(ctx, pending{r.event(ctx, object, kind, event), false}, stored)
		}
	}
}

// Record writes the Events of transitions in a status that is stored. It leaves failures to CatchUp, for which After
// asks.
func (r *Recorder) Record(ctx context.Context, object client.Object, kind schema.GroupVersionKind, events []Event) {
	r.stored(object.GetUID())
	for _, event := range events {
		r.Report(ctx, object, kind, event)
	}
}

// Report writes an Event that is not about a stored transition. It leaves a failure to CatchUp, for which After asks.
func (r *Recorder) Report(ctx context.Context, object client.Object, kind schema.GroupVersionKind, event Event) {
	r.write(ctx, pending{r.event(ctx, object, kind, event), true}, nil)
}

// create writes an Event without waiting for a cache: a client that waits for its own writes would have to watch all
// Events.
func (r *Recorder) create(ctx context.Context, event *eventsv1.Event) error {
	return r.Client.Create(ctx, event, client.DisableReadYourWritesConsistency, client.FieldOwner(identity.FieldManager))
}

// nameOf returns the name of a transition's Event. It consists of the object's name and a digest of the transition.
func nameOf(object client.Object, c metav1.Condition) string {
	sum := sha256.Sum256(fmt.Appendf(
		nil, "%s/%s/%s/%s/%d", object.GetUID(), c.Type, c.Status, c.Reason, c.LastTransitionTime.Unix(),
	))
	return fmt.Sprintf("%.200s.%x", object.GetName(), sum[:8])
}

// event returns the Event of a transition.
func (r *Recorder) event(
	ctx context.Context, object client.Object, kind schema.GroupVersionKind, event Event,
) *eventsv1.Event {
	c, severity := event.Condition, corev1.EventTypeNormal
	if event.Warning {
		severity = corev1.EventTypeWarning
	}
	namespace := cmp.Or(object.GetNamespace(), metav1.NamespaceDefault)
	labels := map[string]string{identity.LabelManagedBy: identity.ManagedBy, identity.LabelCondition: c.Type}
	if r.ClusterID != nil {
		if id, err := r.ClusterID(ctx); err == nil && id != "" {
			labels[identity.LabelClusterID] = id
		}
	}
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: nameOf(object, c), Labels: labels},
		EventTime:           metav1.NewMicroTime(r.Now().Truncate(time.Microsecond)), // the stored form
		ReportingController: identity.FieldManager, ReportingInstance: r.Reporter,
		Action: "Reconcile", Reason: event.Reason, Type: severity, Note: event.Message,
		Regarding: corev1.ObjectReference{
			APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: object.GetNamespace(),
			Name: object.GetName(), UID: object.GetUID(),
		},
	}
}
