package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// plane is a control plane of which the test says what it answers.
type plane struct {
	mu   sync.Mutex
	jobs []pull.Job
	// said are the requests but those for jobs, in order; asked are when jobs were asked for, and with which token.
	said  []string
	asked []time.Duration
	began time.Time
	// answer, if it is set, answers a request with a status other than 0.
	answer func(r *http.Request) (status int, retryAfter string)
	events []int
	keys   []string
}

func (p *plane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	answer := p.answer
	if r.URL.Path == pull.JobsPath {
		p.asked = append(p.asked, time.Since(p.began))
	}
	p.mu.Unlock()
	w.Header().Set("Content-Type", pull.MediaType)
	if answer != nil {
		if status, retry := answer(r); status != 0 {
			if retry != "" {
				w.Header().Set("Retry-After", retry)
			}
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(pull.Error{Code: "Refused", Message: "by the test"})
			return
		}
	}
	switch {
	case r.URL.Path == pull.JobsPath:
		p.sendJobs(w, r)
		return
	case r.URL.Path == pull.EventsPath:
		var batch pull.Events
		_ = json.NewDecoder(r.Body).Decode(&batch)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events = append(p.events, len(batch.Events))
		for _, e := range batch.Events {
			p.keys = append(p.keys, e.EventKey)
		}
	default:
		var body struct{ Outcome, Error, Message string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.said = append(p.said, strings.TrimSpace(strings.TrimPrefix(r.URL.Path, pull.JobsPath+"/")+" "+body.Outcome+body.Message+" "+body.Error))
	}
	w.WriteHeader(http.StatusNoContent)
}

// sendJobs answers with the jobs that there are, or with none after a wait of 30 s.
func (p *plane) sendJobs(w http.ResponseWriter, r *http.Request) {
	for end := time.Now().Add(30 * time.Second); ; {
		p.mu.Lock()
		jobs := p.jobs
		p.jobs = nil
		p.mu.Unlock()
		if len(jobs) > 0 || !time.Now().Before(end) {
			_ = json.NewEncoder(w).Encode(pull.Jobs{Jobs: append([]pull.Job{}, jobs...)})
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
}

func (p *plane) give(jobs ...pull.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.jobs = append(p.jobs, jobs...)
}

func (p *plane) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := strings.Join(p.said, "; ")
	p.said = nil
	return out
}

// bench is an agent before a plane, with a cluster.
type bench struct {
	testing.TB
	plane   *plane
	cluster *resources
	secret  *kept
	keys    *texts
	health  []Health
	agent   *Agent
	ended   chan error
	stop    func()
}

func inBench(t *testing.T, test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{TB: t, plane: &plane{began: time.Now()}, cluster: newResources(), secret: &kept{credential: pull.Credential{ClusterID: "east", Token: "t1"}}, keys: &texts{}}
		b.start()
		test(b)
		b.stop()
	})
}

func (b *bench) start() {
	ctx, cancel := context.WithCancel(b.Context())
	b.agent = New(Options{
		Endpoint: "https://plane", HTTP: &http.Client{Transport: &wire{handler: b.plane}}, Applier: b.cluster, Credentials: b.secret, Keys: NewKeys(b.keys, time.Now),
		Health: func(h Health) { b.health = append(b.health, h) }, Jitter: func() float64 { return 0 },
	})
	b.ended = make(chan error, 1)
	go func() { b.ended <- b.agent.Run(ctx) }()
	b.stop = func() {
		cancel()
		if err := <-b.ended; err != nil {
			b.Errorf("the agent ended with %v", err)
		}
		b.ended <- nil
	}
}

// want compares what the control plane was sent, after a time.
func (b *bench) want(after time.Duration, when, want string) {
	b.Helper()
	time.Sleep(after)
	synctest.Wait()
	if got := b.plane.take(); got != want {
		b.Errorf("%s: %q, want %q", when, got, want)
	}
}

var cloudRef = api.ClusterResource{APIVersion: api.AppsAPIVersion, Kind: api.ApplicationInstanceKind, Namespace: "org", Name: "cloud"}

func applyJob(id, key, version string) pull.Job {
	return pull.Job{ID: id, Kind: pull.KindApply, IdempotencyKey: key, ExpiresAt: time.Now().Add(24 * time.Hour),
		Payload: fmt.Appendf(nil, `{"apiVersion":%q,"kind":"ApplicationInstance","metadata":{"name":"cloud","namespace":"org"},"spec":{"version":%q}}`, api.AppsAPIVersion, version)}
}

// TestAJob: acknowledged, applied, its status while it is not ready, its result once it is; and again as a no-op, also after a restart.
func TestAJob(t *testing.T) {
	inBench(t, func(b *bench) {
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Second, "applied", "j1/ack; j1/status applied, not ready yet")
		b.want(30*time.Second, "soon", "")
		b.want(40*time.Second, "once a minute", "j1/status applied, not ready yet")
		b.cluster.ready(cloudRef, api.ConditionTrue, "HelmReleaseReady")
		b.agent.Moved()
		b.want(time.Second, "ready", "j1/status; j1/result succeeded")
		b.plane.give(applyJob("j2", "k1", "1"))
		b.want(time.Second, "again", "j2/ack; j2/result noop")
		b.stop()
		b.start()
		b.plane.give(applyJob("j3", "k1", "1"))
		b.want(time.Second, "after a restart", "j3/ack; j3/result noop")
		if b.cluster.applies != 1 {
			b.Errorf("applied %d times", b.cluster.applies)
		}
		b.plane.give(applyJob("j4", "k2", "2"))
		b.want(time.Second, "the Ready of the generation before", "j4/ack; j4/status applied, not ready yet")
		b.want(11*time.Minute, "never ready", strings.Repeat("j4/status applied, not ready yet; ", 9)+"j4/status; j4/result succeeded")
	})
}

// TestOutcomes: what can't be done, came too late, or is another manager's.
func TestOutcomes(t *testing.T) {
	inBench(t, func(b *bench) {
		late := applyJob("late", "late", "1")
		late.ExpiresAt = time.Now()
		b.plane.give(late, pull.Job{ID: "odd", Kind: "dance"}, pull.Job{ID: "empty", Kind: pull.KindApply, Payload: []byte(`{}`)}, pull.Job{ID: "bare", Kind: pull.KindDelete, Payload: []byte(`{"name":"x"}`)})
		b.want(time.Second, "refused", `late/ack; late/result noop expired; odd/ack; odd/result failed jobs of kind "dance" are not known; `+
			`empty/ack; empty/result failed the payload is no manifest: it needs apiVersion, kind and metadata.name; bare/ack; bare/result failed the payload of a delete needs apiVersion, kind and name`)
		b.cluster.fail = &ConflictError{Manager: "kubectl", Field: ".spec.values"}
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Second, "a conflict", "j1/ack; j1/result conflict field manager kubectl has set .spec.values to another value")
		b.cluster.fail = errors.New("quota exceeded")
		b.plane.give(applyJob("j2", "k1", "1"))
		b.want(time.Second, "a failure", "j2/ack; j2/result failed quota exceeded")
		b.cluster.fail = nil
		b.plane.give(applyJob("j3", "k1", "1"))
		b.want(time.Second, "what failed is not remembered", "j3/ack; j3/status applied, not ready yet")
		b.keys.fail = errors.New("no space")
		b.plane.give(applyJob("j4", "k4", "4"))
		b.want(time.Second, "a key that can't be stored: no result, it comes again", "j4/ack")
	})
}

// TestADelete: its result is sent once the resource is gone, however long that takes, and after a restart too.
func TestADelete(t *testing.T) {
	inBench(t, func(b *bench) {
		b.plane.give(applyJob("j1", "k1", "1"))
		b.want(time.Second, "applied", "j1/ack; j1/status applied, not ready yet")
		b.cluster.ready(cloudRef, api.ConditionTrue, "HelmReleaseReady")
		b.want(10*time.Second, "ready", "j1/status; j1/result succeeded")
		payload, _ := json.Marshal(cloudRef)
		remove := func(id string) pull.Job {
			return pull.Job{ID: id, Kind: pull.KindDelete, IdempotencyKey: "delete", Payload: payload}
		}
		b.cluster.slow = true
		b.plane.give(remove("d1"))
		b.want(time.Second, "deleting", "d1/ack; d1/status deleting")
		b.stop()
		b.start()
		b.plane.give(remove("d2"))
		b.want(time.Second, "asked again: not gone is no no-op", "d2/ack; d2/status deleting")
		b.want(time.Hour, "an hour", strings.TrimSuffix(strings.Repeat("d2/status deleting; ", 60), "; "))
		b.cluster.gone(cloudRef)
		b.want(10*time.Second, "gone", "d2/result succeeded")
		b.plane.give(remove("d3"))
		b.want(time.Second, "asked again", "d3/ack; d3/result noop")
	})
}

// TestIntents: the intents are applies and deletes.
func TestIntents(t *testing.T) {
	manifest := string(applyJob("", "", "1").Payload)
	for payload, want := range map[string]string{
		`{"intent":"ensure-application-instance","applicationInstance":` + manifest + `}`: "apply ApplicationInstance org/cloud",
		`{"intent":"request-operation","operation":` + manifest + `}`:                     "apply ApplicationInstance org/cloud",
		`{"intent":"delete-application-instance","name":"cloud","namespace":"org"}`:       "delete ApplicationInstance org/cloud",
		`{"intent":"delete-application-instance","name":"cloud"}`:                         "the intent delete-application-instance needs name and namespace",
		`{"intent":"rotate-operator-credentials"}`:                                        `the intent "rotate-operator-credentials" is not known`,
		`{"intent":"ensure-application-instance"}`:                                        "the payload is no manifest: it needs apiVersion, kind and metadata.name",
	} {
		task, err := read(pull.Job{Kind: pull.KindIntent, Payload: []byte(payload)})
		got := map[bool]string{true: "delete", false: "apply"}[task.delete] + " " + task.ref.Kind + " " + task.ref.Namespace + "/" + task.ref.Name
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", payload, got, want)
		}
	}
}

// TestBackoff: 5xx and cut connections are tried again with growing waits, 429 when it says, 404 and 409 end a job.
func TestBackoff(t *testing.T) {
	inBench(t, func(b *bench) {
		b.stop()
		b.plane.answer = func(*http.Request) (int, string) { return http.StatusBadGateway, "" }
		b.plane.asked, b.plane.began = nil, time.Now()
		b.start()
		time.Sleep(4 * time.Minute)
		b.plane.mu.Lock()
		var waits []string
		for i := 1; i < len(b.plane.asked); i++ {
			waits = append(waits, (b.plane.asked[i] - b.plane.asked[i-1]).String())
		}
		b.plane.mu.Unlock()
		if got := strings.Join(waits, " "); got != "1s 2s 4s 8s 16s 32s 1m0s 1m0s" {
			b.Errorf("waits %s", got)
		}
		b.plane.mu.Lock()
		b.plane.answer = func(*http.Request) (int, string) { return http.StatusTooManyRequests, "7" }
		b.plane.mu.Unlock()
		time.Sleep(2 * time.Minute)
		b.plane.mu.Lock()
		n := len(b.plane.asked)
		last := b.plane.asked[n-1] - b.plane.asked[n-2]
		b.plane.mu.Unlock()
		if last != 7*time.Second {
			b.Errorf("after Retry-After: 7 it asked again after %s", last)
		}
		b.plane.mu.Lock()
		b.plane.answer = func(r *http.Request) (int, string) {
			if strings.Contains(r.URL.Path, "closed") {
				return http.StatusConflict, ""
			}
			if strings.Contains(r.URL.Path, "unknown") {
				return http.StatusNotFound, ""
			}
			return 0, ""
		}
		b.plane.mu.Unlock()
		b.plane.give(applyJob("closed", "kc", "1"), applyJob("unknown", "ku", "1"), applyJob("j1", "k1", "1"))
		b.want(10*time.Second, "closed and unknown jobs", "j1/ack; j1/status applied, not ready yet")
		if b.cluster.applies != 1 {
			b.Errorf("applied %d times", b.cluster.applies)
		}
	})
}

// TestRefused: a token that is refused is read again once; if there is no other one the agent ends, and so it does with 403.
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		fresh  bool
		ends   error
	}{
		"401": {http.StatusUnauthorized, false, ErrUnauthorized}, "401 with another token stored": {http.StatusUnauthorized, true, nil}, "403": {http.StatusForbidden, true, ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			inBench(t, func(b *bench) {
				synctest.Wait()
				b.plane.mu.Lock()
				b.plane.answer = func(r *http.Request) (int, string) {
					if r.Header.Get("Authorization") == "Bearer t2" && tc.status == http.StatusUnauthorized {
						return 0, ""
					}
					return tc.status, ""
				}
				b.plane.mu.Unlock()
				if tc.fresh {
					_ = b.secret.Save(b.Context(), pull.Credential{ClusterID: "east", Token: "t2"})
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				select {
				case err := <-b.ended:
					if tc.ends == nil || !errors.Is(err, tc.ends) {
						b.Errorf("ended with %v, want %v", err, tc.ends)
					}
					b.ended <- nil
					if last := b.health[len(b.health)-1]; last.Authenticated || !last.Connected || last.Reason == "" {
						b.Errorf("%+v", last)
					}
				default:
					if tc.ends != nil {
						b.Error("it goes on")
					}
				}
			})
		})
	}
}

// TestEvents: a batch a second, at once when it is full; what can't be sent waits in order, the oldest is dropped; the rest goes at the
// end.
func TestEvents(t *testing.T) {
	inBench(t, func(b *bench) {
		emit := func(from, to int) {
			for i := from; i < to; i++ {
				b.agent.Emit(pull.Event{EventKey: fmt.Sprint(i)})
			}
		}
		emit(0, 3)
		time.Sleep(1500 * time.Millisecond)
		emit(3, 3+pull.MaxEvents)
		synctest.Wait()
		if got := fmt.Sprint(b.plane.events); got != "[3 100]" {
			b.Errorf("batches %s", got)
		}
		b.plane.mu.Lock()
		b.plane.answer = func(r *http.Request) (int, string) {
			if r.URL.Path == pull.EventsPath {
				return http.StatusServiceUnavailable, ""
			}
			return 0, ""
		}
		b.plane.events, b.plane.keys = nil, nil
		b.plane.mu.Unlock()
		emit(1000, 1000+maxBuffer+50)
		time.Sleep(time.Minute)
		synctest.Wait()
		if waiting, dropped := b.agent.Buffered(); waiting != maxBuffer || dropped != 50 {
			b.Errorf("%d wait, %d were dropped", waiting, dropped)
		}
		b.plane.mu.Lock()
		b.plane.answer = nil
		b.plane.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if waiting, dropped := b.agent.Buffered(); waiting != 0 || dropped != 0 || len(b.plane.events) != maxBuffer/pull.MaxEvents {
			b.Errorf("%d wait, %d dropped, %d batches", waiting, dropped, len(b.plane.events))
		}
		if !slices.IsSortedFunc(b.plane.keys, strings.Compare) || b.plane.keys[0] != "1050" {
			b.Errorf("out of order: %v …", b.plane.keys[:3])
		}
		b.plane.events = nil
		emit(5000, 5002)
		b.stop()
		if got := fmt.Sprint(b.plane.events); got != "[2]" {
			b.Errorf("the last batch: %s", got)
		}
	})
}

// TestKeys: they outlive the process, are bounded by age and number, and what is damaged is begun again.
func TestKeys(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	store := &texts{}
	keys := NewKeys(store, func() time.Time { return now })
	done := func(of *Keys, key string) bool {
		t.Helper()
		is, err := of.Done(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	remember := func(key string) {
		t.Helper()
		if err := keys.Remember(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("x", 500) + "@u.1"
	remember("old")
	now = now.Add(keyAge)
	remember(long)
	if again := NewKeys(store, func() time.Time { return now }); !done(again, long) || !done(again, "old") || done(again, strings.Repeat("x", 500)+"@u.2") {
		t.Error("what was done is not known after a restart")
	}
	now = now.Add(time.Second)
	remember("new")
	if done(keys, "old") || !done(keys, "new") {
		t.Error("an old key is kept")
	}
	for i := range maxKeys {
		keys.keys = append(keys.keys, doneKey{strings.Repeat("k", maxKey-8) + fmt.Sprintf("%08d", i), now})
	}
	remember("last")
	if len(keys.keys) != maxKeys || len(store.text) > 1<<20 || !done(keys, "last") {
		t.Errorf("%d keys, %d bytes", len(keys.keys), len(store.text))
	}
	store.text = []byte("{")
	if again := NewKeys(store, func() time.Time { return now }); done(again, "last") {
		t.Error("a damaged text has keys")
	}
}
