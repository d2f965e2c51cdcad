package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/calls"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/store/records"
)

func TestDelivered(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.receive["ok.example"] = answers(204)
		l.object(api.Webhook{URL: "https://ok.example/a?token=secret",
			Headers: map[string]string{"Authorization": "Bearer secret"}})
		l.deliver("deploy-v1-success-1-0", 0)
		l.after(100 * time.Millisecond)
		d := l.delivery("deploy-v1-success-1-0")
		if d.State != api.DeliveryDelivered || d.Attempts != 1 || d.StatusCode != 204 || d.Error != "" ||
			d.EndedAt.IsZero() {
			t.Errorf("the record is %+v", d)
		}
		calls := l.calls()
		if len(calls) != 1 || header(calls[0], "Idempotency-Key") != "uid-deploy-v1-success-1-0" ||
			header(calls[0], "Authorization") != "Bearer secret" {
			t.Errorf("called %+v", calls)
		}
		if l.counted[CountDelivered] != 1 {
			t.Errorf("counted %v", l.counted)
		}
		l.after(webhook.Kept + 20*time.Second)
		if d := l.delivery("deploy-v1-success-1-0"); d.ID != "" {
			t.Error("the record is not forgotten")
		}
	})
}

// TestRetries: a receiver that fails is called four times, with 1, 5 and 30 s between; one that recovers is notified
// once.
func TestRetries(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.receive["down.example"] = answers(503)
		l.receive["flaky.example"] = func(_ context.Context, nth int) webhook.Answer {
			return webhook.Answer{Status: map[bool]int{true: 500, false: 200}[nth < 3]}
		}
		l.receive["strict.example"] = answers(410)
		l.object(api.Webhook{URL: "https://down.example/secret"}, api.Webhook{URL: "https://flaky.example"},
			api.Webhook{URL: "https://strict.example"})
		for i := range 3 {
			l.deliver(fmt.Sprintf("d%d", i), i)
		}
		l.after(2 * time.Minute)
		for id, want := range map[string]string{
			"d0": "failed 4 503 the receiver answered 503",
			"d1": "delivered 3 200 ",
			"d2": "failed 1 410 the receiver answered 410",
		} {
			d := l.delivery(id)
			if got := fmt.Sprintf("%s %d %d %s", d.State, d.Attempts, d.StatusCode, d.Error); got != want {
				t.Errorf("%s: %s, want %s", id, got, want)
			}
		}
		var at []string
		for _, call := range l.calls() {
			if call.request.Host() == "down.example" {
				at = append(at, call.at.Round(time.Second).String())
			}
		}
		if got := strings.Join(at, " "); got != "0s 1s 6s 36s" {
			t.Errorf("tried at %s", got)
		}
		if l.counted[CountRetried] != 5 || l.counted[CountFailed] != 2 || l.counted[CountDelivered] != 1 {
			t.Errorf("counted %v", l.counted)
		}
	})
}

// TestADeadReceiverHoldsUpNobody: with a hundred calls to a receiver that never answers, the others are called at once.
func TestADeadReceiverHoldsUpNobody(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.receive["dead.example"] = silent
		l.receive["ok.example"] = answers(200)
		l.object(api.Webhook{URL: "https://dead.example"}, api.Webhook{URL: "https://ok.example"})
		for i := range 100 {
			l.deliver(fmt.Sprintf("dead%d", i), 0)
		}
		for i := range 5 {
			l.deliver(fmt.Sprintf("ok%d", i), 1)
		}
		l.after(100 * time.Millisecond)
		for i := range 5 {
			if d := l.delivery(fmt.Sprintf("ok%d", i)); d.State != api.DeliveryDelivered {
				t.Errorf("ok%d is %s", i, d.State)
			}
		}
		dead := 0
		for _, call := range l.calls() {
			if call.request.Host() == "dead.example" {
				dead++
			}
		}
		if dead != calls.MaxPerHost {
			t.Errorf("%d calls to one host at a time, want %d", dead, calls.MaxPerHost)
		}
		l.after(20 * time.Minute)
		for i := range 100 {
			if d := l.delivery(fmt.Sprintf("dead%d", i)); d.State != api.DeliveryFailed ||
				d.Error != "no answer in time" {
				t.Fatalf("dead%d is %s %s: what waits for a host gets its turn", i, d.State, d.Error)
			}
		}
	})
}

// TestACutCallIsMadeAgain: a call is made at least once, under the same key.
func TestACutCallIsMadeAgain(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.receive["slow.example"] = silent
		l.object(api.Webhook{URL: "https://slow.example"})
		ctx, cancel := context.WithCancel(l.Context())
		defer cancel()
		l.deliver("d", 0)
		l.after(time.Second)
		var parts sync.WaitGroup
		// The server dies with the call under way, and another one boots.
		l.kill()
		l.receive["slow.example"] = answers(200)
		stop := l.start(ctx, &parts)
		l.after(time.Second)
		calls := l.calls()
		if d := l.delivery("d"); d.State != api.DeliveryDelivered || d.Attempts != 1 || len(calls) != 2 ||
			header(calls[0], "Idempotency-Key") != header(calls[1], "Idempotency-Key") {
			t.Errorf("%+v after %d calls", d, len(calls))
		}
		stop()
	})
}

// TestTheHookIsReadWhenItIsCalled: the address is stored only in the spec, and a target that is gone is not called.
func TestTheHookIsReadWhenItIsCalled(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.receive["old.example"], l.receive["new.example"] = answers(500), answers(200)
		l.object(api.Webhook{URL: "https://old.example"}, api.Webhook{URL: "https://old.example"})
		l.deliver("moved", 0)
		l.deliver("gone", 1)
		l.after(100 * time.Millisecond)
		l.object(api.Webhook{URL: "https://new.example"})
		l.after(time.Minute)
		if d := l.delivery("moved"); d.State != api.DeliveryDelivered {
			t.Errorf("moved is %s %s", d.State, d.Error)
		}
		if d := l.delivery("gone"); d.State != api.DeliveryFailed || d.Error != errHookGone.Error() {
			t.Errorf("gone is %s %s", d.State, d.Error)
		}
		l.write(func(txn *records.Txn) { txn.Delete(records.ObjectKey(web)) })
		l.deliver("orphan", 0)
		l.after(time.Second)
		if d := l.delivery("orphan"); d.State != api.DeliveryFailed || d.Error != errObjectGone.Error() {
			t.Errorf("orphan is %s %s", d.State, d.Error)
		}
	})
}

// TestSecretsAreLookedUpWhenItIsCalled: the value of a reference reaches the receiver and no record. A missing value is
// named, and an attempt after it changed sends the new one.
func TestSecretsAreLookedUpWhenItIsCalled(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.receive["old.example"], l.receive["new.example"] = answers(500), answers(200)
		l.config("apps/prod/web/URL", "https://old.example/s3cret", "apps/shared/hooks/TOKEN", "s3cret")
		hook := api.Webhook{URL: "${config.URL}", Headers: map[string]string{"Authorization": "Bearer ${config.shared.hooks.TOKEN}"}}
		l.object(hook, api.Webhook{URL: "https://ok.example/${config.NONE}"})
		l.deliver("d", 0)
		l.deliver("none", 1)
		l.after(100 * time.Millisecond)
		l.config("apps/prod/web/URL", "https://new.example/s3cret")
		l.after(time.Minute)
		calls := l.calls()
		if d := l.delivery("d"); d.State != api.DeliveryDelivered || d.Attempts != 2 ||
			header(calls[0], "Authorization") != "Bearer s3cret" {
			t.Errorf("%+v after %+v", d, calls)
		}
		d := l.delivery("none")
		if d.State != api.DeliveryFailed || !strings.Contains(d.Error,
			"there is no config value NONE; set it with tend config set prod/web NONE=") {
			t.Errorf("none is %s %s", d.State, d.Error)
		}
		if text, _ := json.Marshal([]api.Delivery{l.delivery("d"), d}); strings.Contains(string(text), "s3cret") {
			t.Errorf("a record holds a secret: %s", text)
		}
	})
}

func TestFileIsReadByItsDigest(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.receive["ok.example"] = answers(200)
		l.object(api.Webhook{URL: "https://ok.example", File: "${asset.notes.body}"},
			api.Webhook{URL: "https://ok.example", File: "${asset.notes.none}"})
		l.deliver("file", 0)
		l.deliver("none", 1)
		l.after(time.Second)
		if calls := l.calls(); len(calls) != 1 || string(calls[0].request.Body) != `{"text":"web is succeeded"}` {
			t.Errorf("called %s", calls[0].request.Body)
		}
		if d := l.delivery("none"); d.State != api.DeliveryFailed || !strings.Contains(d.Error, "no asset") {
			t.Errorf("none is %s %s", d.State, d.Error)
		}
	})
}

// TestAFileIsReadOnceACall: a delivery that waits for its busy host reads nothing, however many passes look at it.
func TestAFileIsReadOnceACall(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.receive["dead.example"] = func(ctx context.Context, _ int) webhook.Answer {
			silent(ctx, 0)
			return webhook.Answer{Status: 400}
		}
		l.object(api.Webhook{URL: "https://dead.example", File: "${asset.notes.body}"})
		for i := range 5 * calls.MaxPerHost {
			l.deliver(fmt.Sprint("d", i), 0)
		}
		l.after(10 * webhook.AttemptTime)
		if called := len(l.calls()); called != 5*calls.MaxPerHost || l.reads != called {
			t.Errorf("%d calls read their file %d times", called, l.reads)
		}
	})
}

// TestStaleCallsAreNotBegun: a call that is old after a long downtime is not made.
func TestStaleCallsAreNotBegun(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.object(api.Webhook{URL: "https://ok.example"})
		l.write(func(txn *records.Txn) {
			txn.Put(records.DeliveryKey(web, "old"), api.Delivery{ID: "old", Kind: web.Kind, Scope: web.Scope,
				Name: web.Name,
				Hook: "on_deploy.success[0]", State: api.DeliveryPending,
				CreatedAt: time.Now().Add(-2 * webhook.Stale)})
		})
		l.after(time.Second)
		if d := l.delivery("old"); d.State != api.DeliveryFailed || len(l.calls()) > 0 {
			t.Errorf("%+v after %d calls", d, len(l.calls()))
		}
	})
}

// TestAnAnswerCountsOnlyForItsOwnDelivery: the object is deleted and created again while its webhook is being called.
// Its delivery has the id of the old one. It makes its own call, and the late answer to the old call is ignored.
func TestAnAnswerCountsOnlyForItsOwnDelivery(t *testing.T) {
	inHarness(t, func(l *harness) {
		late := make(chan webhook.Answer, 1)
		l.receive["old.example"] = func(context.Context, int) webhook.Answer { return <-late }
		l.receive["new.example"] = answers(503)
		l.object(api.Webhook{URL: "https://old.example"})
		l.deliver("deploy-v1-success-1-0", 0)
		l.after(time.Second)
		l.write(func(txn *records.Txn) {
			txn.Delete(records.DeliveryKey(web, "deploy-v1-success-1-0")).Delete(records.ObjectKey(web))
		})
		l.object(api.Webhook{URL: "https://new.example"})
		l.deliver("deploy-v1-success-1-0", 0)
		l.after(100 * time.Millisecond)
		late <- webhook.Answer{Status: 200}
		l.after(100 * time.Millisecond)
		d := l.delivery("deploy-v1-success-1-0")
		if d.State != api.DeliveryPending || d.StatusCode != 503 || d.Attempts != 1 || len(l.calls()) != 2 {
			t.Errorf("%+v after %d calls: its own receiver answered 503 once", d, len(l.calls()))
		}
	})
}

// TestCallsForAnUntrustedSourceAreConfined: what the sync created says so itself.
func TestCallsForAnUntrustedSourceAreConfined(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.receive["ok.example"] = answers(200)
		l.object(api.Webhook{URL: "https://ok.example"})
		l.deliver("a", 0)
		l.after(time.Second)
		object := *records.Snapshot{Reader: l.view.Snapshot()}.Object(web).Value
		object.Metadata.Stamps = map[string]string{api.StampConfined: "true"}
		l.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(web), object) })
		l.deliver("b", 0)
		l.after(time.Second)
		if calls := l.calls(); len(calls) != 2 || calls[0].request.Confined || !calls[1].request.Confined {
			t.Errorf("called %+v", calls)
		}
	})
}

// TestACallIsConfinedByWhoDecidesItsAddress: an admin declared the object, and a deployer set the value, or declared
// the object whose facts are in the address.
func TestACallIsConfinedByWhoDecidesItsAddress(t *testing.T) {
	for name, tc := range map[string]struct {
		url, marked string
		confined    bool
	}{
		"no reference":              {"https://ok.example/in", "", false},
		"an admin's value":          {"${config.hooks.URL}", "", false},
		"a deployer's":              {"${config.hooks.URL}", "apps/prod/hooks/URL", true},
		"of another scope":          {"${config.shared.hooks.URL}", "apps/shared/hooks/URL", true},
		"of its scope":              {"${config.SHARED}", "scopes/prod/SHARED", true},
		"an admin's over it":        {"${config.OVER}", "scopes/prod/OVER", false},
		"a deployer's over it":      {"${config.OVER}", "apps/prod/web/OVER", true},
		"a path":                    {"https://ok.example/${config.hooks.URL}", "apps/prod/hooks/URL", true},
		"another value":             {"${config.hooks.URL}", "apps/prod/hooks/OTHER", false},
		"a deployer's object":       {"https://ok.example/${ref.deployment.theirs.host}", "", true},
		"an admin's object":         {"https://ok.example/${ref.deployment.ours.host}", "", false},
		"no reference, as a dollar": {"https://ok.example/?a=$${config.hooks.URL}", "apps/prod/hooks/URL", false},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(l *harness) {
				l.receive["ok.example"] = answers(200)
				for _, key := range []string{"apps/prod/hooks/URL", "apps/shared/hooks/URL", "scopes/prod/SHARED",
					"scopes/prod/OVER", "apps/prod/web/OVER"} {
					l.config(key, "https://ok.example/in")
				}
				theirs := api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "theirs", Spec: []byte(`{"image":"a"}`),
					Metadata: api.Metadata{UID: "t", Generation: 1, Stamps: map[string]string{api.StampConfined: "true"}}}
				ours := theirs
				ours.Name, ours.Metadata = "ours", api.Metadata{UID: "o", Generation: 1}
				l.write(func(txn *records.Txn) {
					txn.Put(records.ObjectKey(theirs.Ref()), theirs).Put(records.ObjectKey(ours.Ref()), ours)
					if tc.marked != "" {
						txn.Put(records.ConfinedKey(records.ConfigPrefix+tc.marked), "true")
					}
				})
				l.object(api.Webhook{URL: tc.url})
				l.deliver("a", 0)
				l.after(time.Second)
				if calls := l.calls(); len(calls) != 1 || calls[0].request.Confined != tc.confined {
					t.Errorf("called %+v, confined should be %v", calls, tc.confined)
				}
			})
		})
	}
}
