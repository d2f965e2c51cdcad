package puller

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
	"tend.dev/tend/internal/operator/tendtest"
	"tend.dev/tend/internal/store/records"
)

// tend is Tend's own control plane.
type tend struct {
	*tendtest.Server
	ctx context.Context
}

func startTend(ctx context.Context, t testing.TB, parts *sync.WaitGroup) *tend {
	return &tend{Server: tendtest.Start(ctx, t, parts, nil), ctx: ctx}
}

// instance returns the object with a generation.
func instance(generation int64) api.Object {
	return api.Object{Kind: api.KindApplicationInstance, Scope: "org", Name: "cloud", Metadata: api.Metadata{
		UID: "u1", Generation: generation, Finalizers: []string{api.FinalizerCluster},
	},
		Spec: fmt.Appendf(nil, `{"cluster":"east","appRef":{"catalogId":"x"},"chart":{"sourceType":"oci","url":"oci://r/c","name":"x","version":"1.0.%d"},"release":{"name":"x"},"values":{"source":"inline","inline":{}}}`, generation)}
}

// operator returns a puller that is registered with the control plane.
func (s *tend) operator(w *wire, cluster *resources, secret *kept, keys *texts) *Puller {
	return New(Options{
		Endpoint: "https://tend", HTTP: &http.Client{Transport: w}, Applier: cluster, Credentials: secret, Keys: NewKeys(keys, time.Now),
		Jitter: func() float64 { return 0 },
	})
}

// TestAgainstTend runs the puller against Tend's control plane. Connections are cut before and after any request, and
// the puller dies at any time. Each generation is applied once, or again after a death in between, and its state is
// reported; a deletion completes, and tokens rotate.
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
	w := &wire{handler: s.Handler, cut: func(*http.Request) (before, after bool) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n > len(cuts) {
			return false, false
		}
		return cuts[n-1] == 0, cuts[n-1] == 1
	}}
	s.Put(api.Object{
		Kind: api.KindCluster, Scope: api.Unscoped, Name: "east", Spec: []byte("{}"), Metadata: api.Metadata{UID: "c1", Generation: 1},
	})
	token, _, err := s.Handler.Invite(ctx, "east", time.Hour)
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
				t.Errorf("the puller ended: %v", err)
			}
		})
		running.Go(func() { _ = a.Rotate(inner) })
		return func() { end(); running.Wait() }
	}
	stop := run()
	for i, seconds := range deaths {
		s.Put(instance(int64(i + 1)))
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
	a.Emit(pull.Event{
		EventKey: "ready", Kind: pull.EventConditionTransition, ResourceRef: resource, Timestamp: time.Now(),
		Conditions: []pull.Condition{{Type: "Ready", Status: api.ConditionTrue, Reason: "HelmReleaseReady"}},
	})
	for {
		if failed, _ := a.flush(ctx); failed == nil {
			break
		}
	}
	synctest.Wait()
	record, _ := s.Snapshot().Get(records.StatusKey(instance(1).Ref()))
	status, _ := record.Value.(*api.DeliveredStatus)
	if status == nil || status.ObservedGeneration != last {
		t.Fatalf("%+v", status)
	}
	if c := api.FindCondition(status.Conditions, api.ConditionReady); c.Status != api.ConditionTrue || c.Reason != "HelmReleaseReady" {
		t.Errorf("%+v", c)
	}
	// Each death between an apply and the write of its key costs one more apply.
	if most := 2 * len(deaths); cluster.applies > most {
		t.Errorf("%d generations were applied %d times with as many deaths, want at most %d", len(deaths), cluster.applies, most)
	}
	going := instance(last)
	now := time.Now()
	going.Metadata.DeletedAt = &now
	s.Put(going)
	time.Sleep(30 * time.Minute)
	synctest.Wait()
	if seen, _ := cluster.Observe(ctx, cloudRef); seen.Found || s.Snapshot().Object(going.Ref()).Exists() {
		t.Error("the deletion did not end")
	}
	stop()
	cancel()
	parts.Wait()
	_ = s.Store.Close()
}

// TestDeathAfterTheAcknowledgement: if a puller dies between the acknowledgement of a job and its result, the next one
// finishes the job long before the lease ends, and the control plane sees it Ready.
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
				w, cluster, secret, keys := &wire{handler: s.Handler}, newResources(), &kept{}, &texts{}
				s.Put(api.Object{
					Kind: api.KindCluster, Scope: api.Unscoped, Name: "east", Spec: []byte("{}"), Metadata: api.Metadata{UID: "c1", Generation: 1},
				})
				token, _, err := s.Handler.Invite(ctx, "east", time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.register(w, cluster, secret, keys, token); err != nil {
					t.Fatal(err)
				}
				s.Put(instance(1))
				run := func(w *wire, lives time.Duration) {
					inner, end := context.WithTimeout(ctx, lives)
					defer end()
					if err := s.operator(w, cluster, secret, keys).Run(inner); err != nil {
						t.Errorf("the puller ended: %v", err)
					}
				}
				run(&wire{handler: s.Handler, cut: test.cut}, 500*time.Millisecond)
				if seen, _ := cluster.Observe(ctx, cloudRef); seen.Found != test.want {
					t.Fatalf("%s: applied %v before the death, want %v", test.reason, seen.Found, test.want)
				}
				if test.want {
					cluster.ready(cloudRef, api.ConditionTrue, "HelmReleaseReady")
				}
				run(w, 10*time.Second)
				synctest.Wait()
				record, _ := s.Snapshot().Get(records.StatusKey(instance(1).Ref()))
				status, _ := record.Value.(*api.DeliveredStatus)
				if status == nil || status.ObservedGeneration != 1 {
					t.Errorf("%s: after 10 s of the next puller the control plane has %+v", test.reason, status)
				}
				if seen, _ := cluster.Observe(ctx, cloudRef); !seen.Found || cluster.applies != 1 {
					t.Errorf("%s: applied %d times, found %v", test.reason, cluster.applies, seen.Found)
				}
				cancel()
				parts.Wait()
				_ = s.Store.Close()
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
