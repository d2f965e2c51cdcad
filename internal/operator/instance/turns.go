package instance

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// turns orders the instances that wait: their namespaces take turns, so that one with many instances holds up an
// instance of another by one of its own at a time. Within a namespace the first comes first. It implements
// workqueue.Queue. The zero value is empty.
type turns struct {
	waiting map[string][]reconcile.Request // by namespace, without those where none waits
	next    []string                       // the namespaces of waiting, in the order of their turns
	count   int
}

// newTurns returns the queue of a controller whose namespaces take turns.
func newTurns(
	name string, limiter workqueue.TypedRateLimiter[reconcile.Request],
) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	queue := workqueue.NewTypedWithConfig(
		workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: &turns{}})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(
		workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: queue})
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, DelayingQueue: delaying})
}

// Touch does nothing: an instance that waits keeps its place.
func (t *turns) Touch(reconcile.Request) {}

// Push adds an instance.
func (t *turns) Push(request reconcile.Request) {
	if t.waiting == nil {
		t.waiting = map[string][]reconcile.Request{}
	}
	if len(t.waiting[request.Namespace]) == 0 {
		t.next = append(t.next, request.Namespace)
	}
	t.waiting[request.Namespace] = append(t.waiting[request.Namespace], request)
	t.count++
}

// Len returns the number of instances that wait.
func (t *turns) Len() int { return t.count }

// Pop removes the next instance and returns it. Its namespace has its next turn after all others.
func (t *turns) Pop() reconcile.Request {
	namespace := t.next[0]
	t.next = t.next[1:]
	request, rest := t.waiting[namespace][0], t.waiting[namespace][1:]
	if len(rest) > 0 {
		t.waiting[namespace] = rest
		t.next = append(t.next, namespace)
	} else {
		delete(t.waiting, namespace)
	}
	t.count--
	return request
}
