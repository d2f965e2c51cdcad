package instance

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func requestOf(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// TestNamespacesTakeTurns: the controller that looks at values takes the instances of a namespace with few in
// turn with those of one with many that came before, also when they come again.
func TestNamespacesTakeTurns(t *testing.T) {
	queue := valuesOptions().NewQueue("",
		workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	for i := range 100 {
		queue.Add(requestOf("many", fmt.Sprint(i)))
	}
	take := func() string {
		request, _ := queue.Get()
		queue.Done(request)
		return request.String()
	}
	first := take()
	for _, name := range []string{"a", "b", "a"} { // the third is there already
		queue.Add(requestOf("few", name))
	}
	queue.Add(requestOf("other", "a"))
	got := []string{first}
	for range 6 {
		got = append(got, take())
	}
	queue.Add(requestOf("few", "a"))
	got = append(got, take(), take(), take())
	want := []string{"many/0", "many/1", "few/a", "other/a", "many/2", "few/b", "many/3", "many/4", "few/a", "many/5"}
	if !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
	if n := queue.Len(); n != 94 {
		t.Errorf("%d wait, want 94", n)
	}
}

// TestTurnsKeepNothing: of a namespace in which nothing waits, nothing is kept.
func TestTurnsKeepNothing(t *testing.T) {
	var all turns
	for i := range 10 {
		all.Push(requestOf(fmt.Sprint("ns", i%3), fmt.Sprint(i)))
	}
	seen := map[reconcile.Request]bool{}
	for all.Len() > 0 {
		seen[all.Pop()] = true
	}
	if len(seen) != 10 || len(all.waiting) > 0 || len(all.next) > 0 {
		t.Errorf("%d of 10 came; %v and %v are kept", len(seen), all.waiting, all.next)
	}
}
