//go:build kube

package link_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// TestJobsThatLieAreRefused: an unsigned job, a job changed on the way, and an old job sent again change nothing in the
// cluster, and Tend gets the cause.
func TestJobsThatLieAreRefused(t *testing.T) {
	w := newWorld(t)
	w.connect()
	object := web(w.name, w.namespace, 1)
	refused := func(part string) {
		t.Helper()
		w.tend.says("the refusal", object, func(status api.DeliveredStatus) bool {
			return status.Delivery != nil && status.Delivery.Outcome == pull.OutcomeFailed &&
				strings.Contains(status.Delivery.Error, part)
		})
	}
	lie := func(change func(*pull.Job)) {
		all := func(jobs *pull.Jobs) {
			for i := range jobs.Jobs {
				change(&jobs.Jobs[i])
			}
		}
		w.tend.lies.Store(&all)
	}
	lie(func(j *pull.Job) { j.Signature = "" })
	w.tend.put(object)
	refused("has no signature")
	object = web(w.name, w.namespace, 2)
	lie(func(j *pull.Job) {
		j.Payload = bytes.ReplaceAll(j.Payload, []byte("registry.example.org"), []byte("evil.example.org"))
	})
	w.tend.put(object)
	refused("not signed with a key")
	if live, err := w.get(t.Context(), applicationInstance, "web"); !apierrors.IsNotFound(err) {
		t.Fatalf("it was applied: %v (%v)", live, err)
	}
	var mu sync.Mutex
	var old []pull.Job
	keep := func(jobs *pull.Jobs) {
		mu.Lock()
		defer mu.Unlock()
		old = append(old, jobs.Jobs...)
	}
	w.tend.lies.Store(&keep)
	w.tend.put(web(w.name, w.namespace, 3))
	w.fetched("1.0.3")
	mu.Lock()
	replayed := slices.Clone(old)
	mu.Unlock()
	w.tend.lies.Store(nil)
	w.tend.put(web(w.name, w.namespace, 4))
	w.fetched("1.0.4")
	for _, job := range replayed {
		w.tend.replayed.Store(job.ID, true)
	}
	again := func(jobs *pull.Jobs) { // a malicious proxy sends the job of generation 3 again
		if len(jobs.Jobs) > 0 {
			jobs.Jobs = append(slices.Clone(replayed), jobs.Jobs...)
		}
	}
	w.tend.lies.Store(&again)
	w.tend.put(web(w.name, w.namespace, 5))
	w.fetched("1.0.5")
	live, err := w.get(t.Context(), applicationInstance, "web")
	if err != nil || !strings.HasSuffix(live.GetAnnotations()[pull.AnnotationObject], ".5") {
		t.Errorf("the instance is of %v (%v)", live.GetAnnotations(), err)
	}
	w.tend.mu.Lock()
	defer w.tend.mu.Unlock()
	if said := strings.Join(w.tend.errors, "\n"); !strings.Contains(said, "is already at uid-web.4") {
		t.Errorf("of the job that came again is said %q", said)
	}
}
