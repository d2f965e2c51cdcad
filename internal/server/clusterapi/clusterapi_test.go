package clusterapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/storefault"
)

// TestRefusals: each status of the contract, with the cause in the body.
func TestRefusals(t *testing.T) {
	inHarness(t, func(h *harness) {
		token, other := h.registered("east"), h.registered("west")
		h.put(instance("cloud", 1))
		job := h.poll(token, 30)[0]
		post := func(token, at string, body any, headers ...string) answer {
			return h.call(h.ctx, token, "POST", at, body, headers...)
		}
		h.want(401, "Unauthorized", h.call(h.ctx, "", "GET", pull.JobsPath, nil))
		h.want(401, "Unauthorized", h.call(h.ctx, "vwksp-agt-guess", "GET", pull.JobsPath, nil))
		h.want(401, "Unauthorized", post("vwksp-reg-guess", pull.RegisterPath,
			pull.Registration{RegistrationToken: "vwksp-reg-guess"}))
		h.want(401, "Unauthorized", post(token, pull.RegisterPath, pull.Registration{}))
		h.want(403, "Forbidden", h.call(h.ctx, token, "GET", pull.JobsPath+"?cluster=west", nil))
		h.want(404, "NotFound", post(token, pull.JobsPath+"/nothing/ack", nil))
		h.want(404, "NotFound", post(other, path(job, "ack"), nil))
		h.want(404, "NotFound", h.call(h.ctx, token, "GET", pull.Prefix+"nothing", nil))
		h.want(409, "Unacknowledged", post(token, path(job, "result"), pull.Result{Outcome: pull.OutcomeSucceeded}))
		h.want(409, "Unacknowledged", post(token, path(job, "status"), pull.Status{}))
		h.want(204, "", post(token, path(job, "ack"), nil))
		h.want(400, "InvalidOutcome", post(token, path(job, "result"), pull.Result{Outcome: "perhaps"}))
		h.want(400, "InvalidResult", post(token, path(job, "result"), pull.Result{Outcome: pull.OutcomeFailed}))
		h.want(400, "InvalidJSON", post(token, path(job, "result"), "{"))
		h.want(400, "InvalidWait", h.call(h.ctx, token, "GET", pull.JobsPath+"?wait=long", nil))
		h.want(400, "TooManyEvents", post(token, pull.EventsPath, pull.Events{Events: make([]pull.Event, pull.MaxEvents+1)}))
		h.want(413, "TooLarge", post(token, pull.EventsPath, strings.Repeat(" ", pull.MaxBody+1)))
		h.want(415, "UnsupportedMediaType", post(token, pull.EventsPath, "x", "Content-Type", "text/plain"))
		h.want(204, "", post(token, pull.EventsPath, `{"events":[],"later":"fields are ignored"}`, "Content-Type",
			"application/json; charset=utf-8"))
		h.want(204, "", post(token, path(job, "result"), pull.Result{Outcome: pull.OutcomeSucceeded}))
		for _, what := range []string{"ack", "status", "result"} {
			h.want(409, "Closed", post(token, path(job, what), pull.Result{Outcome: pull.OutcomeSucceeded}))
		}
		h.paused = "an older store was restored"
		if got := h.call(h.ctx, token, "GET", pull.JobsPath, nil); got.header.Get("Retry-After") != "60" {
			h.Errorf("%v", got.header)
		} else {
			h.want(503, "Paused", got)
		}
	})
}

// TestASupersededJobIsClosed: an operator's report on a replaced job is ignored, and the operator learns that.
func TestASupersededJobIsClosed(t *testing.T) {
	inHarness(t, func(h *harness) {
		token := h.registered("east")
		h.put(instance("cloud", 1))
		old := h.poll(token, 30)[0]
		h.want(204, "", h.call(h.ctx, token, "POST", path(old, "ack"), nil))
		h.put(instance("cloud", 2))
		h.want(409, "Closed", h.call(h.ctx, token, "POST", path(old, "result"),
			pull.Result{Outcome: pull.OutcomeFailed, Error: "of the first"}))
		next := h.poll(token, 30)
		if len(next) != 1 || next[0].ID == old.ID {
			h.Fatalf("%+v", next)
		}
		if status := h.status(instance("cloud", 2).Ref()); status.Delivery.Generation != 2 || status.Delivery.Outcome != "" {
			h.Errorf("%+v", status.Delivery)
		}
	})
}

// TestPollsWait: a request for jobs is answered as soon as there is one, with none when its wait is over, again once a
// lease ends, and not at all when its client goes; few of a cluster wait at once.
func TestPollsWait(t *testing.T) {
	inHarness(t, func(h *harness) {
		token := h.registered("east")
		began := time.Now()
		if jobs := h.poll(token, 7); len(jobs) != 0 || time.Since(began) != 7*time.Second {
			h.Errorf("%d jobs after %s", len(jobs), time.Since(began))
		}
		if began = time.Now(); len(h.poll(token, 9999)) != 0 || time.Since(began) != pull.MaxWait {
			h.Errorf("the longest wait is %s", time.Since(began))
		}
		found := make(chan []pull.Job)
		go func() { found <- h.poll(token, 300) }()
		time.Sleep(42 * time.Second)
		began = time.Now()
		h.put(instance("cloud", 1))
		jobs := <-found
		if len(jobs) != 1 || time.Since(began) > time.Second {
			h.Fatalf("%d jobs %s after the object", len(jobs), time.Since(began))
		}
		h.want(204, "", h.call(h.ctx, token, "POST", path(jobs[0], "ack"), nil))
		began = time.Now()
		for len(h.poll(token, 300)) == 0 {
		}
		if since := time.Since(began); since < clusterjob.Lease || since > clusterjob.Lease+time.Minute {
			h.Errorf("sent again after %s, the lease is %s", since, clusterjob.Lease)
		}
		h.want(204, "", h.call(h.ctx, token, "POST", path(jobs[0], "ack"), nil))
		ctx, cancel := context.WithCancel(h.ctx)
		for range maxWaiting {
			go h.call(ctx, token, "GET", pull.JobsPath+"?wait=300", nil)
		}
		synctest.Wait()
		h.want(429, "TooManyRequests", h.call(h.ctx, token, "GET", pull.JobsPath, nil))
		cancel()
		synctest.Wait()
		h.poll(token, 0)
	})
}

// TestRegistration: a token registers once, an answer that got lost can be asked for again, and rotation leaves a day.
func TestRegistration(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.declare("east")
		reg, ends, err := h.handler.Invite(h.ctx, "east", time.Hour)
		if err != nil || !strings.HasPrefix(reg, clusterjob.RegistrationPrefix) || !ends.Equal(time.Now().Add(time.Hour)) {
			h.Fatalf("%s, %s, %v", reg, ends, err)
		}
		if _, _, err := h.handler.Invite(h.ctx, "west", time.Hour); !errors.Is(err, ErrNoCluster) {
			h.Errorf("%v", err)
		}
		wrong := h.call(h.ctx, reg, "POST", pull.RegisterPath, pull.Registration{RegistrationToken: reg, ClusterID: "west"})
		h.want(403, "Forbidden", wrong)
		first := h.register(reg)
		if again := h.register(reg); again != first || first.ClusterID != "east" {
			h.Errorf("asked again: %+v, %+v", again, first)
		}
		stored, _ := json.Marshal(h.snapshot().ClusterAccess("east").Value)
		if text := string(stored); strings.Contains(text, reg) || strings.Contains(text, first.Token) {
			h.Errorf("a token is stored: %s", text)
		}
		h.poll(first.Token, 0)
		h.want(401, "Unauthorized", h.call(h.ctx, reg, "POST", pull.RegisterPath, pull.Registration{RegistrationToken: reg}))

		rotate := func(token string) string {
			var given pull.Credential
			got := h.call(h.ctx, token, "POST", pull.RotatePath, struct{}{})
			if json.Unmarshal(got.body, &given) != nil || got.status != 200 || given.Token == "" {
				h.Fatalf("rotate: %d %s", got.status, got.body)
			}
			return given.Token
		}
		lost := rotate(first.Token)
		second := rotate(first.Token)
		h.want(401, "Unauthorized", h.call(h.ctx, lost, "GET", pull.JobsPath+"?wait=0", nil))
		h.poll(second, 0)
		h.poll(first.Token, 0)
		time.Sleep(pull.RotationGrace)
		h.want(401, "Unauthorized", h.call(h.ctx, first.Token, "GET", pull.JobsPath+"?wait=0", nil))
		h.poll(second, 0)
		expired, _, err := h.handler.Invite(h.ctx, "east", time.Hour)
		if err != nil {
			h.Fatal(err)
		}
		time.Sleep(time.Hour)
		h.want(401, "Unauthorized", h.call(h.ctx, expired, "POST", pull.RegisterPath,
			pull.Registration{RegistrationToken: expired}))
		if len(h.audit) != 3+2 || h.audit[1].Name != "east" || h.foreign != 4 {
			// register, once refused and once repeated; rotations, one with a lost answer
			h.Errorf("audit %+v, foreign %d", h.audit, h.foreign)
		}
	})
}

// TestAFirstUseMeetsARotation: a request that came with a token for the first time is answered, although that was
// rotated meanwhile.
func TestAFirstUseMeetsARotation(t *testing.T) {
	inHarness(t, func(h *harness) {
		token := h.registered("east")
		rotated := false
		h.fate = func(txn store.Txn) storefault.Fate {
			if txn.Site == "cluster.first-use" && !rotated {
				rotated = true
				access, key := h.snapshot().ClusterAccess("east"), records.ClusterAccessKey("east")
				next := clusterjob.Rotate(*access.Value, clusterjob.TokenHash(token), "another", time.Now())
				if _, err := records.NewTxn("rotate").If(key, access.Modified).Put(key, next).Commit(h.ctx, h.store); err != nil {
					h.Error(err)
				}
			}
			return storefault.Answered
		}
		h.poll(token, 0)
		if !rotated {
			h.Error("nothing was rotated meanwhile")
		}
		if h.snapshot().ClusterAccess("east").Value.Token.Used {
			h.Error("the token that replaced it counts as used")
		}
	})
}

// TestTooMany: a client that guesses tokens, and a cluster with too many requests, learn when to retry. Reports about
// jobs leave room for events, and events for reports.
func TestTooMany(t *testing.T) {
	inHarness(t, func(h *harness) {
		token := h.registered("east")
		events := func() answer { return h.call(h.ctx, token, "POST", pull.EventsPath, pull.Events{}) }
		report := func() answer { return h.call(h.ctx, token, "POST", pull.JobsPath+"/none/ack", nil) }
		exhaust := func(burst float64, code string, ask func() answer) {
			h.Helper()
			status := map[string]int{"": 204, "NotFound": 404}[code]
			for range int(burst) {
				h.want(status, code, ask())
			}
			got := ask()
			if h.want(429, "TooManyRequests", got); got.header.Get("Retry-After") != "1" {
				h.Errorf("%v", got.header)
			}
		}
		exhaust(clusterBurst, "NotFound", report)
		exhaust(eventBurst, "", events)
		time.Sleep(time.Second)
		h.want(204, "", events())
		h.want(404, "NotFound", report())
		for range int(refusedBurst) {
			h.want(401, "Unauthorized", h.call(h.ctx, "guess", "GET", pull.JobsPath, nil))
		}
		h.want(429, "TooManyRequests", h.call(h.ctx, "guess", "GET", pull.JobsPath, nil))
		time.Sleep(time.Minute)
		h.want(401, "Unauthorized", h.call(h.ctx, "guess", "GET", pull.JobsPath, nil))
	})
}

// TestEvents: conditions reach the status once, those of other clusters and of nothing here are passed over, a
// heartbeat is the cluster's.
func TestEvents(t *testing.T) {
	inHarness(t, func(h *harness) {
		token, other := h.registered("east"), h.registered("west")
		object := instance("cloud", 1)
		h.put(object)
		job := h.poll(token, 30)[0]
		ref := clusterjob.ResourceOf(object.Ref())
		ref.UID, ref.Generation = "k1", 5
		h.want(204, "", h.call(h.ctx, token, "POST", path(job, "ack"), nil))
		h.want(204, "", h.call(h.ctx, token, "POST", path(job, "result"),
			pull.Result{Outcome: pull.OutcomeSucceeded, AppliedRef: &ref}))
		event := func(reason string, status api.ConditionStatus) pull.Event {
			return pull.Event{EventKey: reason, Kind: pull.EventConditionTransition, ResourceRef: ref, Timestamp: time.Now(),
				Conditions: []pull.Condition{{Type: "Ready", Status: status, Reason: reason}}}
		}
		elsewhere := event("Foreign", api.ConditionFalse)
		elsewhere.ResourceRef.Name = "unknown"
		heartbeat := pull.Event{Kind: pull.EventHeartbeat,
			ResourceRef: api.ClusterResource{Kind: api.ClusterKind, Name: "east"},
			Conditions:  []pull.Condition{{Type: "ControllersHealthy", Status: "True"}}}
		batch := pull.Events{Events: []pull.Event{event("Installing", api.ConditionUnknown),
			event("HelmReleaseReady", api.ConditionTrue), elsewhere, heartbeat}}
		h.want(204, "", h.call(h.ctx, token, "POST", pull.EventsPath, batch))
		ready := api.FindCondition(h.status(object.Ref()).Conditions, api.ConditionReady)
		if ready.Status != api.ConditionTrue || ready.Reason != "HelmReleaseReady" {
			h.Errorf("%+v", ready)
		}
		before := h.view.Revision()
		h.want(204, "", h.call(h.ctx, token, "POST", pull.EventsPath, batch))
		synctest.Wait()
		if after := h.view.Revision(); after != before {
			h.Errorf("a batch that came twice was written: revision %d, then %d", before, after)
		}
		h.want(204, "", h.call(h.ctx, other, "POST", pull.EventsPath,
			pull.Events{Events: []pull.Event{event("Foreign", api.ConditionFalse)}}))
		if again := api.FindCondition(h.status(object.Ref()).Conditions,
			api.ConditionReady); again.Reason != "HelmReleaseReady" {
			h.Errorf("another cluster says how it is: %+v", again)
		}
		if contact := h.snapshot().ClusterContact("east"); !contact.Exists() || len(contact.Value.Conditions) != 1 {
			h.Errorf("%+v", contact.Value)
		}
	})
}

// TestDisconnected: a cluster whose operator falls silent is disconnected after five minutes, and connected with its
// next request.
func TestDisconnected(t *testing.T) {
	inHarness(t, func(h *harness) {
		phase := func() string {
			synctest.Wait()
			status := h.snapshot().ClusterStatus("east")
			return status.Value.Phase
		}
		h.declare("east")
		if got := phase(); got != api.ClusterPending {
			h.Error(got)
		}
		token, _, _ := h.handler.Invite(h.ctx, "east", time.Hour)
		credential := h.register(token).Token
		h.poll(credential, 30)
		if got := phase(); got != api.ClusterConnected {
			h.Error(got)
		}
		time.Sleep(50 * time.Second)
		if got := phase(); got != api.ClusterConnected {
			h.Error(got)
		}
		time.Sleep(2 * time.Minute)
		if got := phase(); got != api.ClusterDisconnected {
			h.Error(got)
		}
		h.poll(credential, 0)
		if got := phase(); got != api.ClusterConnected {
			h.Error(got)
		}
		object := h.snapshot().Cluster("east")
		if _, err := records.NewTxn("test").Delete(records.ObjectKey(object.Value.Ref())).Commit(h.ctx, h.store); err != nil {
			h.Fatal(err)
		}
		synctest.Wait()
		if h.snapshot().ClusterAccess("east").Exists() || h.snapshot().ClusterContact("east").Exists() {
			h.Error("a cluster that is gone has left tokens")
		}
		h.want(401, "Unauthorized", h.call(h.ctx, credential, "GET", pull.JobsPath, nil))
		h.declare("east")
		h.want(401, "Unauthorized", h.call(h.ctx, credential, "GET", pull.JobsPath, nil))
	})
}

// TestUnknownOutcomes: a store that does not answer makes a 503, and the operator that sends the same again gets on,
// whether the first was stored or not.
func TestUnknownOutcomes(t *testing.T) {
	for name, fate := range map[string]storefault.Fate{"stored": storefault.Unanswered, "lost": storefault.Lost} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(h *harness) {
				h.declare("east")
				failed := map[string]bool{}
				h.fate = func(txn store.Txn) storefault.Fate {
					if !failed[txn.Site] {
						failed[txn.Site] = true
						return fate
					}
					return storefault.Answered
				}
				retry := func(call func() answer) answer {
					got := call()
					for tries := 0; got.status == http.StatusServiceUnavailable && tries < 3; tries++ {
						got = call()
					}
					return got
				}
				var token string
				for token == "" {
					token, _, _ = h.handler.Invite(h.ctx, "east", time.Hour)
				}
				got := retry(func() answer {
					return h.call(h.ctx, token, "POST", pull.RegisterPath, pull.Registration{RegistrationToken: token})
				})
				var given pull.Credential
				if err := json.Unmarshal(got.body, &given); err != nil || got.status != 200 {
					h.Fatalf("%d %s", got.status, got.body)
				}
				h.put(instance("cloud", 1))
				got = retry(func() answer { return h.call(h.ctx, given.Token, "GET", pull.JobsPath, nil) })
				var jobs pull.Jobs
				if err := json.Unmarshal(got.body, &jobs); err != nil || len(jobs.Jobs) != 1 {
					h.Fatalf("%d %s", got.status, got.body)
				}
				h.want(204, "", retry(func() answer { return h.call(h.ctx, given.Token, "POST", path(jobs.Jobs[0], "ack"), nil) }))
				last := retry(func() answer {
					return h.call(h.ctx, given.Token, "POST", path(jobs.Jobs[0], "result"),
						pull.Result{Outcome: pull.OutcomeSucceeded})
				})
				if last.status != 204 && last.status != 409 {
					h.Errorf("%d %s", last.status, last.body)
				}
				if status := h.status(instance("cloud", 1).Ref()); status.ObservedGeneration != 1 ||
					status.Delivery.Outcome != pull.OutcomeSucceeded {
					h.Errorf("%+v", status)
				}
				for _, site := range []string{"cluster.invite", "cluster.register", "cluster.first-use", "cluster.contact",
					"cluster.ack", "cluster.result"} {
					if !failed[site] {
						h.Errorf("%s was not tried", site)
					}
				}
			})
		})
	}
}
