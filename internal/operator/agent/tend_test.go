package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/clusterapi"
	"tend.dev/tend/internal/control"
	controllers "tend.dev/tend/internal/control/cluster"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
)

// tend is a control plane as a server runs it: the endpoints and the controllers, over a store in memory.
type tend struct {
	testing.TB
	ctx     context.Context
	store   *memory.Store
	view    *view.View
	handler *clusterapi.Handler
}

func startTend(ctx context.Context, t testing.TB, parts *sync.WaitGroup) *tend {
	s := &tend{TB: t, ctx: ctx, store: memory.New()}
	s.view = view.New(s.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	parts.Go(func() { _ = s.view.Run(ctx) })
	<-s.view.Synced()
	for _, kind := range controllers.Kinds {
		c := kind.New(control.Deps{Snapshot: s.snapshot, Store: s.store})
		work := engine.New(engine.Options{Name: c.Name(), Reconciler: c, Replay: c.Keys, Dirty: c.Dirty, Synced: s.view.Synced(), Revision: s.view.Revision, WaitFor: s.view.WaitFor})
		s.view.OnChange(func(change view.Change) { work.Enqueue(c.Affected(s.snapshot(), change)...) })
		parts.Go(func() { _ = work.Run(ctx) })
	}
	s.handler = clusterapi.New(clusterapi.Options{Store: s.store, View: s.view, Fresh: s.fresh, MAC: func(plain []byte) string { return fmt.Sprintf("%x", plain) }})
	return s
}

func (s *tend) snapshot() records.Snapshot { return records.Snapshot{Reader: s.view.Snapshot()} }

func (s *tend) fresh(ctx context.Context) (records.Snapshot, error) {
	page, err := s.store.List(ctx, records.SchemaKey, store.ListOptions{Limit: 1})
	if err == nil {
		err = s.view.WaitFor(ctx, page.Revision)
	}
	return s.snapshot(), err
}

func (s *tend) put(object api.Object) {
	s.Helper()
	if _, err := records.NewTxn("test").Put(records.ObjectKey(object.Ref()), object).Commit(s.ctx, s.store); err != nil {
		s.Fatal(err)
	}
}

// instance returns the object in a generation.
func instance(generation int64) api.Object {
	return api.Object{Kind: api.KindApplicationInstance, Scope: "org", Name: "cloud", Metadata: api.Metadata{UID: "u1", Generation: generation, Finalizers: []string{api.FinalizerCluster}},
		Spec: fmt.Appendf(nil, `{"cluster":"east","appRef":{"catalogId":"x"},"chart":{"sourceType":"oci","url":"oci://r/c","name":"x","version":"1.0.%d"},"release":{"name":"x"},"values":{"source":"inline","inline":{}}}`, generation)}
}

// operator returns an agent that is registered with a control plane.
func (s *tend) operator(w *wire, cluster *resources, secret *kept, keys *texts) *Agent {
	return New(Options{Endpoint: "https://tend", HTTP: &http.Client{Transport: w}, Applier: cluster, Credentials: secret, Keys: NewKeys(keys, time.Now), Jitter: func() float64 { return 0 }})
}

// TestAgainstTend: the agent and the control plane of Tend, with connections that are cut before and after any request, and an agent
// that dies at any time: a generation is applied once, or again after a death in the middle, and its state comes back; a deletion ends, and the tokens rotate.
func TestAgainstTend(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cuts := rapid.SliceOfN(rapid.IntRange(0, 11), 40, 40).Draw(rt, "cuts")
		deaths := rapid.SliceOfN(rapid.IntRange(1, 90), 3, 3).Draw(rt, "deaths")
		synctest.Test(t, func(t *testing.T) { liveThrough(t, cuts, deaths) })
	})
}

func liveThrough(t *testing.T, cuts, deaths []int) {
	ctx, cancel := context.WithCancel(t.Context())
	var parts sync.WaitGroup
	s := startTend(ctx, t, &parts)
	cluster, secret, keys := newResources(), &kept{}, &texts{}
	n := 0
	var mu sync.Mutex
	w := &wire{handler: s.handler, cut: func(*http.Request) (before, after bool) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n > len(cuts) {
			return false, false
		}
		return cuts[n-1] == 0, cuts[n-1] == 1
	}}
	s.put(api.Object{Kind: api.KindCluster, Scope: api.Unscoped, Name: "east", Spec: []byte("{}"), Metadata: api.Metadata{UID: "c1", Generation: 1}})
	token, _, err := s.handler.Invite(ctx, "east", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for s.register(w, cluster, secret, keys, token) != nil {
		time.Sleep(time.Second)
	}
	run := func() (stop func()) {
		inner, end := context.WithCancel(ctx)
		a := s.operator(w, cluster, secret, keys)
		var running sync.WaitGroup
		running.Go(func() {
			if err := a.Run(inner); err != nil {
				t.Errorf("the agent ended: %v", err)
			}
		})
		running.Go(func() { _ = a.Rotate(inner) })
		return func() { end(); running.Wait() }
	}
	stop := run()
	for i, seconds := range deaths {
		s.put(instance(int64(i + 1)))
		time.Sleep(time.Duration(seconds) * time.Second)
		if seen, _ := cluster.Observe(ctx, cloudRef); seen.Found {
			cluster.ready(cloudRef, api.ConditionTrue, fmt.Sprint("Generation", seen.Resource.Generation))
		}
		stop()
		stop = run()
	}
	last := int64(len(deaths))
	time.Sleep(30 * time.Minute) // leases end
	if seen, _ := cluster.Observe(ctx, cloudRef); !seen.Found || !contains(cluster.text[cloudRef], fmt.Sprintf("1.0.%d", last)) {
		t.Fatalf("the cluster has %+v, %s", seen, cluster.text[cloudRef])
	}
	resource := cluster.ready(cloudRef, api.ConditionTrue, "HelmReleaseReady")
	a := s.operator(w, cluster, secret, keys)
	a.credential, _ = secret.Load(ctx)
	a.Emit(pull.Event{EventKey: "ready", Kind: pull.EventConditionTransition, ResourceRef: resource, Timestamp: time.Now(), Conditions: []pull.Condition{{Type: "Ready", Status: api.ConditionTrue, Reason: "HelmReleaseReady"}}})
	for {
		if failed, _ := a.flush(ctx); failed == nil {
			break
		}
	}
	synctest.Wait()
	record, _ := s.snapshot().Get(records.StatusKey(instance(1).Ref()))
	status, _ := record.Value.(*api.DeliveredStatus)
	if status == nil || status.ObservedGeneration != last {
		t.Fatalf("%+v", status)
	}
	if c := api.FindCondition(status.Conditions, api.ConditionReady); c.Status != api.ConditionTrue || c.Reason != "HelmReleaseReady" {
		t.Errorf("%+v", c)
	}
	if most := 2 * len(deaths); cluster.applies > most { // once more for each death between an apply and the note of its key
		t.Errorf("%d generations were applied %d times with as many deaths, want at most %d", len(deaths), cluster.applies, most)
	}
	going := instance(last)
	now := time.Now()
	going.Metadata.DeletedAt = &now
	s.put(going)
	time.Sleep(30 * time.Minute)
	synctest.Wait()
	if seen, _ := cluster.Observe(ctx, cloudRef); seen.Found || s.snapshot().Object(going.Ref()).Exists() {
		t.Error("the deletion did not end")
	}
	stop()
	cancel()
	parts.Wait()
	_ = s.store.Close()
}

// TestDeathAfterTheAcknowledgement: an agent that dies between the acknowledgement of a job and its result is followed by one that
// finishes the job long before its lease ends: what is applied is Ready at the control plane.
func TestDeathAfterTheAcknowledgement(t *testing.T) {
	tests := map[string]struct {
		reason string
		cut    func(r *http.Request) (before, after bool)
		want   bool // applied before the death
	}{
		"before the apply": {"the answer to the acknowledgement is lost", func(r *http.Request) (before, after bool) {
			return false, strings.HasSuffix(r.URL.Path, "/ack")
		}, false},
		"after the apply": {"no status and no result arrives", func(r *http.Request) (before, after bool) {
			return strings.HasSuffix(r.URL.Path, "/status") || strings.HasSuffix(r.URL.Path, "/result"), false
		}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				var parts sync.WaitGroup
				s := startTend(ctx, t, &parts)
				w, cluster, secret, keys := &wire{handler: s.handler}, newResources(), &kept{}, &texts{}
				s.put(api.Object{Kind: api.KindCluster, Scope: api.Unscoped, Name: "east", Spec: []byte("{}"), Metadata: api.Metadata{UID: "c1", Generation: 1}})
				token, _, err := s.handler.Invite(ctx, "east", time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.register(w, cluster, secret, keys, token); err != nil {
					t.Fatal(err)
				}
				s.put(instance(1))
				run := func(w *wire, lives time.Duration) {
					inner, end := context.WithTimeout(ctx, lives)
					defer end()
					if err := s.operator(w, cluster, secret, keys).Run(inner); err != nil {
						t.Errorf("the agent ended: %v", err)
					}
				}
				run(&wire{handler: s.handler, cut: test.cut}, 500*time.Millisecond)
				if seen, _ := cluster.Observe(ctx, cloudRef); seen.Found != test.want {
					t.Fatalf("%s: applied %v before the death, want %v", test.reason, seen.Found, test.want)
				}
				if test.want {
					cluster.ready(cloudRef, api.ConditionTrue, "HelmReleaseReady")
				}
				run(w, 10*time.Second)
				synctest.Wait()
				record, _ := s.snapshot().Get(records.StatusKey(instance(1).Ref()))
				status, _ := record.Value.(*api.DeliveredStatus)
				if status == nil || status.ObservedGeneration != 1 {
					t.Errorf("%s: after 10 s of the next agent the control plane has %+v", test.reason, status)
				}
				if seen, _ := cluster.Observe(ctx, cloudRef); !seen.Found || cluster.applies != 1 {
					t.Errorf("%s: applied %d times, found %v", test.reason, cluster.applies, seen.Found)
				}
				cancel()
				parts.Wait()
				_ = s.store.Close()
			})
		})
	}
}

func (s *tend) register(w *wire, cluster *resources, secret *kept, keys *texts, token string) error {
	_, err := s.operator(w, cluster, secret, keys).Register(s.ctx, token, "east", "")
	return err
}

func contains(manifest, version string) bool {
	var head struct {
		Spec struct{ Chart struct{ Version string } }
	}
	return json.Unmarshal([]byte(manifest), &head) == nil && head.Spec.Chart.Version == version
}
