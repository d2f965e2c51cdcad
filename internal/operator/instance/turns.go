package instance

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	rates "tend.dev/tend/internal/platform/limit"
)

// turns decides which instance may read an object next. A turn is one read, so that neither many instances of a
// namespace nor one with many objects hold up another namespace by more than a read at a time: namespaces take turns,
// and within one its instances do.
//
// The instance whose turn it is asks again after the delay of the limit; the others ask when their turn comes. So no
// worker waits, and one timer runs, however many instances wait.
type turns struct {
	limit *rates.Rates

	mu sync.Mutex
	// turn is the instance whose turn it is; nil if none waits.
	turn    *reconcile.Request
	waiting line
}

// newTurns returns turns of a number of reads a second, and of a number at once after a rest.
func newTurns(perSecond, atOnce float64, now func() time.Time) *turns {
	return &turns{limit: rates.NewRates(perSecond, atOnce, now)}
}

// take reports whether an instance may read an object now. Otherwise it is to ask again after a time; zero means when
// its turn comes. An instance that may read must call done afterwards.
func (t *turns) take(request reconcile.Request) (mayRead bool, after time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn != nil && *t.turn != request {
		t.waiting.push(request)
		return false, 0
	}
	t.turn = &request
	after = t.limit.Ask("")
	return after == 0, after
}

// done ends the turn of an instance, if it has it, and returns the instance that has the next one; nil if none waits.
// more says that it has something else to read: then it waits behind the others.
func (t *turns) done(request reconcile.Request, more bool) *reconcile.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turn == nil || *t.turn != request {
		return nil
	}
	if more {
		t.waiting.push(request)
	}
	t.turn = t.waiting.pop()
	return t.turn
}

// line orders the instances that wait, each of which it holds once: their namespaces take turns, and within a namespace
// the first comes first. The zero value is empty.
type line struct {
	held map[reconcile.Request]bool
	of   map[string][]reconcile.Request // by namespace, without those where none waits
	next []string                       // the namespaces of the map, in the order of their turns
}

// push adds an instance, unless it waits already.
func (l *line) push(request reconcile.Request) {
	if l.held[request] {
		return
	}
	if l.of == nil {
		l.held, l.of = map[reconcile.Request]bool{}, map[string][]reconcile.Request{}
	}
	l.held[request] = true
	if len(l.of[request.Namespace]) == 0 {
		l.next = append(l.next, request.Namespace)
	}
	l.of[request.Namespace] = append(l.of[request.Namespace], request)
}

// pop removes the next instance and returns it; nil if none waits. Its namespace has its next turn after all others.
func (l *line) pop() *reconcile.Request {
	if len(l.next) == 0 {
		return nil
	}
	namespace := l.next[0]
	l.next = l.next[1:]
	request, rest := l.of[namespace][0], l.of[namespace][1:]
	if len(rest) > 0 {
		l.of[namespace] = rest
		l.next = append(l.next, namespace)
	} else {
		delete(l.of, namespace)
	}
	delete(l.held, request)
	return &request
}
