//go:build kube

package link_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/operator/kubetest"
	"tend.dev/tend/internal/store/records"
)

// installer plays Flux in one namespace: it reports each release as installed as soon as it is declared.
type installer struct {
	client.WithWatch
	namespace string
	// fails makes its reports say that a release failed.
	fails atomic.Bool

	mu sync.Mutex
	// ends are those who wait for the end of an instance.
	ends map[string]chan time.Time
}

// startInstaller starts an installer, which runs until the test ends.
func startInstaller(w *world, namespace string) *installer {
	w.Helper()
	made, err := client.NewWithWatch(w.As("helm-controller"), client.Options{Scheme: kubetest.Scheme()})
	if err != nil {
		w.Fatal(err)
	}
	i := &installer{WithWatch: made, namespace: namespace, ends: map[string]chan time.Time{}}
	releases, sources, instances := i.watch(w, helmRelease), i.watch(w, ociRepository), i.watch(w, applicationInstance)
	var parts sync.WaitGroup
	for range 4 {
		parts.Go(func() { i.follow(w, releases) })
		parts.Go(func() { i.follow(w, sources) })
	}
	parts.Go(func() {
		for event := range instances.ResultChan() {
			if live, ok := event.Object.(*unstructured.Unstructured); ok && event.Type == watch.Deleted {
				i.ended(live.GetName(), time.Now())
			}
		}
	})
	w.Cleanup(func() {
		releases.Stop()
		sources.Stop()
		instances.Stop()
		parts.Wait()
	})
	return i
}

// follow reports each release or source whose declaration changes, until the watch ends.
func (i *installer) follow(w *world, watching watch.Interface) {
	for event := range watching.ResultChan() {
		live, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Deleted {
			continue
		}
		observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
		if observed == live.GetGeneration() {
			continue
		}
		name := strings.TrimSuffix(live.GetName(), "-source")
		if err := i.report(w.Context(), name); err != nil && w.Context().Err() == nil {
			w.Errorf("Flux's report of %s: %v", name, err)
		}
	}
}

func (i *installer) watch(w *world, kind schema.GroupVersionKind) watch.Interface {
	w.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	watching, err := i.Watch(w.Context(), list, client.InNamespace(i.namespace))
	if err != nil {
		w.Fatal(err)
	}
	return watching
}

// gone returns a channel with the time at which an instance ends next.
func (i *installer) gone(name string) <-chan time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	end := make(chan time.Time, 1)
	i.ends[name] = end
	return end
}

func (i *installer) ended(name string, at time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if end := i.ends[name]; end != nil {
		end <- at
		delete(i.ends, name)
	}
}

// report writes the status of a release and of its source. A release that is gone has none.
func (i *installer) report(ctx context.Context, name string) error {
	source, release := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	source.SetGroupVersionKind(ociRepository)
	release.SetGroupVersionKind(helmRelease)
	key := client.ObjectKey{Namespace: i.namespace, Name: name}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := i.Get(ctx, client.ObjectKey{Namespace: i.namespace, Name: name + "-source"}, source); err != nil {
			return err
		}
		if err := i.Get(ctx, key, release); err != nil {
			return err
		}
		tag, _, _ := unstructured.NestedString(source.Object, "spec", "ref", "tag")
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(tag)))
		fetched := fluxStatus(source, "True", "Succeeded")
		fetched["artifact"] = map[string]any{
			"revision": tag + "@" + digest, "digest": digest, "path": "p", "url": "http://source/p",
			"lastUpdateTime": "2026-11-25T12:00:00Z",
		}
		if observed, _, _ := unstructured.NestedInt64(source.Object, "status", "observedGeneration"); observed !=
			source.GetGeneration() {
			source.Object["status"] = fetched
			if err := i.Status().Update(ctx, source); err != nil {
				return err
			}
		}
		installed := fluxStatus(release, "True", "InstallSucceeded")
		if i.fails.Load() {
			installed = fluxStatus(release, "False", "UpgradeFailed")
		}
		installed["lastAttemptedRevision"] = tag + "+" + digest[len("sha256:"):][:12]
		installed["lastAttemptedRevisionDigest"] = digest
		release.Object["status"] = installed
		return i.Status().Update(ctx, release)
	})
	return client.IgnoreNotFound(err)
}

// fluxStatus returns a status of the current generation with the condition Ready.
func fluxStatus(live client.Object, ready, reason string) map[string]any {
	return map[string]any{"observedGeneration": live.GetGeneration(), "conditions": []any{map[string]any{
		"type": "Ready", "status": ready, "reason": reason, "message": "flux says " + reason,
		"observedGeneration": live.GetGeneration(), "lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}}}
}

// statuses are all statuses of instances that Tend has stored, with the time of each.
type statuses struct {
	mu    sync.Mutex
	seen  map[string][]stamped
	moved chan struct{}
}

type stamped struct {
	at     time.Time
	status api.DeliveredStatus
}

// watchStatuses records statuses until the test ends.
func watchStatuses(s *tend) *statuses {
	k := &statuses{seen: map[string][]stamped{}, moved: make(chan struct{})}
	ctx, cancel := context.WithCancel(s.Context())
	batches := s.Store.Watch(ctx, records.StatusPrefix, 0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for batch := range batches.Batches() {
			at := time.Now()
			for _, event := range batch.Events {
				if event.Deleted {
					continue
				}
				value, err := records.Decode(event.Key, event.Value)
				if status, ok := value.(*api.DeliveredStatus); ok && err == nil {
					k.add(event.Key, stamped{at, *status})
				}
			}
		}
	}()
	s.Cleanup(func() { cancel(); <-done })
	return k
}

func (k *statuses) add(key string, one stamped) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen[key] = append(k.seen[key], one)
	close(k.moved)
	k.moved = make(chan struct{})
}

// await returns when the first status after an instant was stored that satisfies is. With a zero instant, the newest
// status must satisfy it.
func (k *statuses) await(
	t testing.TB, object api.Object, after time.Time, is func(api.DeliveredStatus) bool,
) time.Time {
	key := records.StatusKey(object.Ref())
	patience := time.NewTimer(5 * time.Minute)
	defer patience.Stop()
	for {
		k.mu.Lock()
		all, moved := k.seen[key], k.moved
		k.mu.Unlock()
		if after.IsZero() && len(all) > 0 {
			all = all[len(all)-1:]
		}
		for _, one := range all {
			if one.at.After(after) && is(one.status) {
				return one.at
			}
		}
		select {
		case <-moved:
		case <-patience.C:
			t.Errorf("%s: %+v", object.Ref(), all)
			return time.Now()
		}
	}
}

// inParallel calls do for each object, ten at a time.
func inParallel(objects []api.Object, do func(api.Object)) {
	next := make(chan api.Object)
	var workers sync.WaitGroup
	for range 10 {
		workers.Go(func() {
			for object := range next {
				do(object)
			}
		})
	}
	for _, object := range objects {
		next <- object
	}
	close(next)
	workers.Wait()
}
