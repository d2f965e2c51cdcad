package reconciler

import (
	"container/heap"
	"context"
	"time"
)

// maxStep is the longest the queue sleeps without reading the clock again: a suspend or a clock jump is noticed within
// it, however far away the next alarm is.
const maxStep = 60 * time.Second

// alarm calls fire once queue time has reached due. It is in one heap, at index.
type alarm struct {
	due   time.Duration
	fire  func()
	index int
}

// timers holds every wait of a controller in one heap: retries, requeues, the resync and the full pass. client-go's
// delaying queue is not used: it can't cancel a wait, and it sleeps as long as the wait is.
//
// It is guarded by the controller's lock, and alarms fire under it.
type timers struct {
	alarms alarmHeap
	// wake has room for one token: the loop re-arms when an alarm earlier than all others was set.
	wake chan struct{}
}

func newTimers() timers { return timers{wake: make(chan struct{}, 1)} }

func (t *timers) set(due time.Duration, fire func()) *alarm {
	a := &alarm{due: due, fire: fire}
	heap.Push(&t.alarms, a)
	if a.index == 0 {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
	return a
}

// stop cancels an alarm; nil and fired ones are allowed.
func (t *timers) stop(a *alarm) {
	if a != nil && a.index >= 0 {
		heap.Remove(&t.alarms, a.index)
	}
}

// fireDue fires what is due and returns how long to sleep.
func (t *timers) fireDue(now time.Duration) time.Duration {
	for len(t.alarms) > 0 && t.alarms[0].due <= now {
		heap.Pop(&t.alarms).(*alarm).fire()
	}
	if len(t.alarms) == 0 {
		return maxStep
	}
	return min(t.alarms[0].due-now, maxStep)
}

// watchClock fires alarms until ctx ends.
func (c *Controller) watchClock(ctx context.Context) {
	timer := time.NewTimer(maxStep)
	defer timer.Stop()
	for {
		c.mu.Lock()
		sleep := c.timers.fireDue(c.clock.now())
		c.mu.Unlock()
		timer.Reset(sleep)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-c.timers.wake:
		}
	}
}

// alarmHeap implements heap.Interface; an alarm outside the heap has index -1.
type alarmHeap []*alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].due < h[j].due }

func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *alarmHeap) Push(x any) {
	a := x.(*alarm)
	a.index = len(*h)
	*h = append(*h, a)
}

func (h *alarmHeap) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	a.index = -1
	return a
}
