package instance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

func requestOf(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// lookout plays the API server and the controller of References, on a clock of its own. A Reconcile that waits would
// never end: the clock stands still meanwhile.
type lookout struct {
	client.Reader
	t         rapid.TB
	now       time.Time
	instances map[client.ObjectKey]*appsv1alpha1.ApplicationInstance
	r         *References
	queue     workqueue.TypedRateLimitingInterface[reconcile.Request]
	later     map[reconcile.Request]time.Time
	reads     []read
	// known are the instances that were reconciled, and all is the number of reads before the last of them was.
	known map[reconcile.Request]bool
	all   int
}

// read is one read of an object from the API server.
type read struct {
	instance string // namespace and name, by the name of the object
	at       time.Duration
}

func newLookout(t rapid.TB, perSecond, atOnce float64) (l *lookout, end func()) {
	l = &lookout{t: t, now: noon, instances: map[client.ObjectKey]*appsv1alpha1.ApplicationInstance{},
		later: map[reconcile.Request]time.Time{}, known: map[reconcile.Request]bool{}}
	clock := func() time.Time { return l.now }
	l.r = &References{Live: l, Instances: l, Now: clock, turns: newTurns(perSecond, atOnce, clock)}
	l.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	if err := l.r.Turns(context.Background(), l.queue); err != nil {
		t.Fatal(err)
	}
	return l, l.queue.ShutDown
}

// declares adds an instance with a number of Secrets that it takes values from.
func (l *lookout) declares(request reconcile.Request, secrets int) {
	instance := web()
	instance.Namespace, instance.Name, instance.UID = request.Namespace, request.Name, types.UID(request.String())
	instance.Spec.ValuesFrom = nil
	for i := range secrets {
		instance.Spec.ValuesFrom = append(instance.Spec.ValuesFrom, appsv1alpha1.ValuesReference{
			Kind: "Secret", Name: fmt.Sprintf("%s.%d", request.Name, i),
		})
	}
	l.instances[request.NamespacedName] = instance
	l.queue.Add(request)
}

func (l *lookout) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	missing := apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	switch into := into.(type) {
	case *unstructured.Unstructured:
		instance := l.instances[key]
		if instance == nil {
			return missing
		}
		values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(instance)
		into.Object = values
		return err
	case *metav1.PartialObjectMetadata:
		name, _, _ := strings.Cut(key.Name, ".")
		l.reads = append(l.reads, read{key.Namespace + "/" + name, l.now.Sub(noon)})
		return missing
	}
	l.t.Errorf("a %T is read", into)
	return missing
}

// runs reconciles until the clock has reached a time.
func (l *lookout) runs(until time.Duration) {
	for {
		for l.queue.Len() > 0 {
			request, _ := l.queue.Get()
			if !l.known[request] {
				l.known[request], l.all = true, len(l.reads)
			}
			result, err := l.r.Reconcile(context.Background(), request)
			if err != nil {
				l.t.Fatal(err)
			}
			l.queue.Done(request)
			delete(l.later, request)
			if result.RequeueAfter > 0 {
				l.later[request] = l.now.Add(result.RequeueAfter)
			}
		}
		next := noon.Add(until)
		for _, at := range l.later {
			if at.Before(next) {
				next = at
			}
		}
		if l.now = next; !next.Before(noon.Add(until)) {
			return
		}
		due := []reconcile.Request{}
		for request, at := range l.later {
			if !at.After(next) {
				due = append(due, request)
			}
		}
		slices.SortFunc(due, func(a, b reconcile.Request) int { return strings.Compare(a.String(), b.String()) })
		for _, request := range due {
			l.queue.Add(request)
		}
	}
}

// order returns the instances whose objects were read.
func (l *lookout) order() string {
	var names []string
	for _, one := range l.reads {
		names = append(names, one.instance)
	}
	return strings.Join(names, " ")
}

// TestNamespacesTakeTurns: an object at a time, namespaces take turns, and within one its instances do, also those that
// came later.
func TestNamespacesTakeTurns(t *testing.T) {
	l, end := newLookout(t, 2, 1)
	defer end()
	l.declares(requestOf("many", "a"), 100)
	for i := range 9 {
		l.declares(requestOf("many", fmt.Sprint(i)), 1)
	}
	l.runs(100 * time.Millisecond)
	l.declares(requestOf("few", "a"), 2)
	l.declares(requestOf("few", "b"), 1)
	l.declares(requestOf("other", "a"), 1)
	l.runs(7 * time.Second)
	const want = "many/a many/a many/0 few/a other/a many/1 few/b" // nobody else waits at first
	if got := l.order(); got != want {
		t.Errorf("read are %s, want %s", got, want)
	}
}

// TestNobodyIsHeldUpForLong: whatever instances there are, with any number of objects: no more is read than the limit
// allows, each is read in the end, and between two reads of a namespace, another one has one at most, once all wait.
func TestNobodyIsHeldUpForLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		atOnce := rapid.IntRange(looksPerSec, 60).Draw(t, "at once")
		l, end := newLookout(t, looksPerSec, float64(atOnce))
		defer end()
		pending, total := map[string]int{}, 0
		for range rapid.IntRange(1, 12).Draw(t, "instances") {
			request := requestOf(rapid.SampledFrom([]string{"n1", "n2", "n3", "n4"}).Draw(t, "namespace"),
				fmt.Sprint("i", len(l.instances)))
			secrets := rapid.SampledFrom([]int{1, 2, 5, 40}).Draw(t, "secrets")
			l.declares(request, secrets)
			pending[request.Namespace] += secrets
			total += secrets
		}
		l.runs(lookEvery - time.Second) // each is looked at once
		if fits := atOnce + looksPerSec*int(lookEvery/time.Second-2); total <= fits && len(l.reads) != total {
			t.Fatalf("%d of %d were read: %s", len(l.reads), total, l.order())
		}
		since, most := map[string]map[string]int{}, map[string]int{}
		for waits := range pending {
			since[waits], most[waits] = map[string]int{}, 2 // the turn, and one that was next already
		}
		for i, one := range l.reads {
			if allowed := float64(atOnce) + looksPerSec*one.at.Seconds(); float64(i+1) > allowed+0.001 {
				t.Fatalf("%d reads in %s", i+1, one.at)
			}
			namespace, _, _ := strings.Cut(one.instance, "/")
			for waits, left := range pending {
				if waits == namespace || left == 0 || i < l.all {
					continue
				}
				if since[waits][namespace]++; since[waits][namespace] > most[waits] {
					t.Fatalf("%s waits for another read of %s, read %d: %s", waits, namespace, i, l.order())
				}
			}
			if pending[namespace]--; i >= l.all {
				since[namespace], most[namespace] = map[string]int{}, 1
			}
		}
	})
}

// TestAnInstanceThatGoesPassesItsTurn: also if it has the turn, and while it waits.
func TestAnInstanceThatGoesPassesItsTurn(t *testing.T) {
	l, end := newLookout(t, 1, 1)
	defer end()
	for _, name := range []string{"a", "b", "c", "d"} {
		l.declares(requestOf("prod", name), 2)
	}
	l.runs(3 * time.Second / 2)
	for _, name := range []string{"b", "c"} { // b has the turn
		delete(l.instances, requestOf("prod", name).NamespacedName)
	}
	l.queue.Add(requestOf("prod", "b"))
	l.runs(5 * time.Second)
	if got, want := l.order(), "prod/a prod/a prod/d prod/d"; got != want {
		t.Errorf("read are %s, want %s", got, want)
	}
	if turns := l.r.turns; turns.turn != nil || len(turns.waiting.held)+len(turns.waiting.of)+len(turns.waiting.next) > 0 {
		t.Errorf("kept are %+v", turns)
	}
	if len(l.r.by) != 2 {
		t.Errorf("%d instances are kept", len(l.r.by))
	}
}
