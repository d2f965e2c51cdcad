//go:build kube

package link_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api"
)

// TestFailureDriftAndAbsenceAreKnown: Tend shows each of several applications as failed, changed, deleted, and deleted
// with its namespace, and as ready again in between.
func TestFailureDriftAndAbsenceAreKnown(t *testing.T) {
	const count = 6
	for what, times := range newFleet(t, count).measure() {
		if len(times) != count {
			t.Errorf("%s: %d of %d applications are known", what, len(times), count)
		}
	}
}

// BenchmarkKnown measures from the cluster's change to Tend's status, with 300 applications.
func BenchmarkKnown(b *testing.B) {
	for b.Loop() {
		for what, times := range newFleet(b, 300).measure() {
			slices.Sort(times)
			b.ReportMetric(times[len(times)/2].Seconds(), "s/"+what+"-p50")
			b.ReportMetric(times[len(times)*99/100].Seconds(), "s/"+what+"-p99")
		}
	}
}

// fleet is a world with many applications, whose charts Flux installs as soon as they are declared.
type fleet struct {
	*world
	flux    *installer
	known   *statuses
	doomed  string
	objects []api.Object
}

// newFleet returns a fleet in a namespace of its own, all of it ready.
func newFleet(t testing.TB, count int) *fleet {
	t.Helper()
	w := emptyWorld(t)
	f := &fleet{world: w, doomed: w.Namespace(t)}
	w.doomed = f.doomed
	w.operate()
	w.connect()
	f.known = watchStatuses(w.tend)
	f.flux = startInstaller(w, f.doomed)
	for i := range count {
		object := named(w.name, f.doomed, fmt.Sprintf("web-%03d", i))
		f.objects = append(f.objects, object)
		w.tend.put(object)
	}
	f.allReady()
	return f
}

// allReady waits until Tend shows every application as ready.
func (f *fleet) allReady() {
	f.Helper()
	for _, object := range f.objects {
		f.known.await(f, object, time.Time{}, isReady(1, "HelmReleaseReady"))
	}
}

// measure returns how long each application's failure, drift and absence took to become known. at-once is the time
// since the end of the last of all, when their namespace is deleted.
func (f *fleet) measure() map[string][]time.Duration {
	f.Helper()
	times := map[string][]time.Duration{}
	f.flux.fails.Store(true)
	times["failed"] = f.each(func(object api.Object) (time.Time, func(api.DeliveredStatus) bool) {
		if err := f.flux.report(f.Context(), object.Name); err != nil {
			f.Error(err)
		}
		return time.Now(), saysFailed
	})
	f.flux.fails.Store(false)
	f.each(func(object api.Object) (time.Time, func(api.DeliveredStatus) bool) {
		if err := f.flux.report(f.Context(), object.Name); err != nil {
			f.Error(err)
		}
		return time.Time{}, isReady(1, "HelmReleaseReady")
	})
	times["drifted"] = f.each(func(object api.Object) (time.Time, func(api.DeliveredStatus) bool) {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"chart":{"version":"2.0.0"}}}`))
		if err := f.user.Patch(f.Context(), f.instance(object), patch, client.FieldOwner("kubectl-patch")); err != nil {
			f.Error(err)
		}
		return time.Now(), is(api.ConditionReady, api.ConditionFalse, api.ReasonDrifted)
	})
	f.allReady()
	times["absent"] = f.each(func(object api.Object) (time.Time, func(api.DeliveredStatus) bool) {
		gone := f.flux.gone(object.Name)
		if err := f.user.Delete(f.Context(), f.instance(object)); err != nil {
			f.Error(err)
		}
		return <-gone, is(api.ConditionReady, api.ConditionFalse, api.ReasonMissing)
	})
	f.allReady()
	times["at-once"] = f.deleteNamespace()
	return times
}

// each changes every application, ten at a time, and returns how long Tend took to show each change.
func (f *fleet) each(change func(api.Object) (time.Time, func(api.DeliveredStatus) bool)) []time.Duration {
	f.Helper()
	all := make(chan time.Duration, len(f.objects))
	inParallel(f.objects, func(object api.Object) {
		began := time.Now()
		at, shown := change(object)
		all <- f.known.await(f, object, began, shown).Sub(at)
	})
	close(all)
	var times []time.Duration
	for one := range all {
		times = append(times, one)
	}
	return times
}

// deleteNamespace deletes the namespace, and returns when Tend showed each application as missing, measured from the
// end of the last one.
func (f *fleet) deleteNamespace() (times []time.Duration) {
	f.Helper()
	began := time.Now()
	var gone []<-chan time.Time
	for _, object := range f.objects {
		gone = append(gone, f.flux.gone(object.Name))
	}
	if err := f.user.Delete(f.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.doomed}}); err != nil {
		f.Fatal(err)
	}
	for f.empty(f.Context(), applicationInstance, f.doomed) > 0 {
		for _, live := range f.list(f.Context(), helmRelease, f.doomed) {
			if live.GetDeletionTimestamp() == nil {
				_ = f.user.Delete(f.Context(), &live)
			}
		}
	}
	var last time.Time
	for _, one := range gone {
		if at := <-one; at.After(last) {
			last = at
		}
	}
	for _, object := range f.objects {
		at := f.known.await(f, object, began, is(api.ConditionReady, api.ConditionFalse, api.ReasonMissing))
		times = append(times, at.Sub(last))
	}
	return times
}

func (f *fleet) instance(object api.Object) *unstructured.Unstructured {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(applicationInstance)
	live.SetNamespace(object.Scope)
	live.SetName(object.Name)
	return live
}
