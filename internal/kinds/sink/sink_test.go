package sink

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/control/calls"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/records"
)

// TestEventsAreSentInOrder: from the sink's creation on, each one once, by the filter.
func TestEventsAreSentInOrder(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["in.example"] = answers(204)
		h.happen("before")
		h.sink("in", 1, toHTTP("in.example"))
		h.happen("a", "b", "c")
		h.sink("other", 1, api.SinkSpec{Stdout: &api.SinkStdout{}}) // its own events are not of the scope
		h.becomes("a", "NoNode")
		h.after(2 * time.Second)
		want := "deployment.created prod/a, deployment.created prod/b, deployment.created prod/c, deployment.status_updated prod/a, " +
			"deployment.reconciliation.failed prod/a"
		if got := events(h.calls("in.example")); got != want {
			t.Errorf("sent %s\nwant %s", got, want)
		}
		p := h.progress("in")
		if p.Sent != 5 || p.Failed != 0 || p.Dead != 0 || p.Trying != nil || !p.BehindSince.IsZero() ||
			h.counted["http delivered"] != 5 {
			t.Errorf("the progress is %+v, counted %v", p, h.counted)
		}
		if got := h.condition("in", api.ConditionReady); got != "True Delivering" {
			t.Errorf("it is %s", got)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if lines := h.lines.String(); strings.Count(lines, "msg=event") < 2 ||
			!strings.Contains(lines, "type=deployment.reconciliation.failed subject=prod/a") {
			t.Errorf("the log has %s", lines)
		}
	})
}

// TestASinkWithoutAFilterSendsNothingOfItsOwnStatus: what it sends makes no more to send, also where it fails.
func TestASinkWithoutAFilterSendsNothingOfItsOwnStatus(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["in.example"] = func(_ context.Context, nth int) webhook.Answer {
			return webhook.Answer{Status: map[bool]int{true: 503, false: 200}[nth <= 5]}
		}
		h.sink("in", 1, api.SinkSpec{HTTP: &api.SinkHTTP{URL: "https://in.example/events"}})
		h.happen("a")
		h.after(time.Hour)
		got := events(h.calls("in.example")[5:])
		if got != "deployment.created prod/a" {
			t.Errorf("sent %s", got)
		}
	})
}

// TestADeadSinkHoldsUpNothing: the other sink gets everything at once, and the dead one's condition says so; when it is
// back it gets everything too, in order.
func TestADeadSinkHoldsUpNothing(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["live.example"], h.receive["dead.example"] = answers(200), silent
		h.sink("live", 1, toHTTP("live.example"))
		h.sink("dead", 1, toHTTP("dead.example"))
		h.happen("a", "b")
		if got := events(h.calls("live.example")); got != "deployment.created prod/a, deployment.created prod/b" {
			t.Errorf("the live one got %s", got)
		}
		h.after(2 * time.Minute)
		p := h.progress("dead")
		if h.condition("dead", api.ConditionReady) != "False SinkFailing" ||
			h.condition("dead", api.ConditionDegraded) != "True SinkFailing" || p.Sent != 0 ||
			p.Failed < failing || p.BehindSince.IsZero() || p.LastError == "" {
			t.Errorf("the dead one is %s: %+v", h.condition("dead", api.ConditionReady), p)
		}
		if h.condition("live", api.ConditionReady) != "True Delivering" {
			t.Errorf("the live one is %s", h.condition("live", api.ConditionReady))
		}
		h.mu.Lock()
		h.receive["dead.example"], h.called = answers(200), nil
		h.mu.Unlock()
		h.after(7 * time.Minute)
		if got := events(h.calls("dead.example")); got != "deployment.created prod/a, deployment.created prod/b" {
			t.Errorf("the dead one got %s", got)
		}
		if p := h.progress("dead"); h.condition("dead", api.ConditionReady) != "True Delivering" || p.Dead != 0 ||
			p.Sent != 2 || !p.BehindSince.IsZero() {
			t.Errorf("it is %s: %+v", h.condition("dead", api.ConditionReady), p)
		}
	})
}

// TestRetriesAndRefusals: what may pass is tried again with growing waits; what is refused is counted and skipped.
func TestRetriesAndRefusals(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["in.example"] = func(_ context.Context, nth int) webhook.Answer {
			return webhook.Answer{Status: []int{503, 429, 404, 200, 413, 200}[nth-1]}
		}
		h.sink("in", 1, toHTTP("in.example"))
		h.happen("a", "b", "c")
		h.after(10 * time.Second)
		want := "deployment.created prod/a, deployment.created prod/a, deployment.created prod/a, deployment.created prod/a, deployment.created prod/b, deployment.created prod/c"
		calls := h.calls("in.example")
		if got := events(calls); got != want {
			t.Fatalf("sent %s", got)
		}
		if at := fmt.Sprint(calls[0].at, calls[1].at, calls[2].at, calls[3].at); at != "0s 1s 3s 7s" ||
			calls[0].id == "" || calls[0].id != calls[3].id || calls[0].id == calls[4].id {
			t.Errorf("tried at %s with the ids %s, %s, %s", at, calls[0].id, calls[3].id, calls[4].id)
		}
		if p := h.progress("in"); p.Sent != 2 || p.Failed != 3 || p.Dead != 1 ||
			p.LastError != "the receiver answered 413" {
			t.Errorf("the progress is %+v", p)
		}
	})
}

// TestAPoisonedEventIsGivenUp: what the receiver fails on each time holds up the others for retry_for and no longer.
func TestAPoisonedEventIsGivenUp(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["in.example"] = func(context.Context, int) webhook.Answer {
			h.mu.Lock()
			defer h.mu.Unlock()
			return webhook.Answer{Status: map[bool]int{true: 500,
				false: 200}[strings.HasSuffix(h.called[len(h.called)-1].event, "poison")]}
		}
		spec := toHTTP("in.example")
		spec.RetryFor = "10m"
		h.sink("in", 1, spec)
		h.happen("poison", "b")
		h.after(9 * time.Minute)
		if p := h.progress("in"); p.Sent != 0 || p.Dead != 0 {
			t.Errorf("after 9 minutes: %+v", p)
		}
		h.after(6 * time.Minute)
		if p := h.progress("in"); p.Sent != 1 || p.Dead != 1 {
			t.Errorf("after 15 minutes: %+v", p)
		}
	})
}

// TestARestartLosesNothing: events from before the end, while no server leads, and after it all arrive. What is sent
// twice has the same id.
func TestARestartLosesNothing(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["in.example"] = answers(200)
		h.sink("in", 1, toHTTP("in.example"))
		h.after(time.Minute)
		var names []string
		for i := range 40 {
			names = append(names, fmt.Sprintf("w%02d", i))
		}
		h.happen(names[:5]...)
		h.after(100 * time.Millisecond)
		h.happen(names[5:10]...)
		h.stop() // before the progress of the last five is written
		h.happen(names[10:20]...)
		h.start(h.Context())
		h.happen(names[20:30]...)
		h.after(500 * time.Millisecond)
		h.stop()
		h.start(h.Context())
		h.happen(names[30:]...)
		h.after(2 * time.Second)
		first, ids := []string{}, map[string]string{}
		for _, c := range h.calls("in.example") {
			if was, sent := ids[c.event]; sent && was != c.id {
				t.Errorf("%s was sent with two ids", c.event)
			} else if !sent {
				first = append(first, strings.TrimPrefix(c.event, "deployment.created prod/"))
			}
			ids[c.event] = c.id
		}
		if got, want := strings.Join(first, " "), strings.Join(names, " "); got != want {
			t.Errorf("first sent in the order %s", got)
		}
		if n := len(h.calls("in.example")); n == len(names) {
			t.Error("nothing was sent twice: the test stops the server at no interesting time")
		}
		if p := h.progress("in"); p.Sent < 40 || p.Dead+p.Gaps > 0 {
			t.Errorf("the progress is %+v", p)
		}
	})
}

// TestPastTheRetention: a sink that is so far behind that events were deleted goes on with the oldest there is, counts
// the gap, and says so for an hour.
func TestPastTheRetention(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["in.example"] = answers(503)
		h.sink("in", 1, toHTTP("in.example"))
		h.happen("a", "b", "c", "d")
		h.after(10 * time.Second)
		h.stop()
		if _, err := h.log.Trim(h.Context(), h.store, eventlog.Retention{Count: 1}, time.Now()); err != nil {
			t.Fatal(err)
		}
		h.mu.Lock()
		h.receive["in.example"], h.called = answers(200), nil
		h.mu.Unlock()
		h.happen("e")
		h.start(h.Context())
		h.after(2 * time.Second)
		if got := events(h.calls("in.example")); !strings.HasSuffix(got, "deployment.created prod/e") ||
			strings.Contains(got, "prod/a") {
			t.Errorf("sent %s", got)
		}
		p := h.progress("in")
		if p.Gaps != 1 || p.Gap == nil || h.condition("in", api.ConditionDegraded) != "True EventsSkipped" ||
			h.condition("in", api.ConditionReady) != "True Delivering" ||
			h.counted["http skipped"] != 1 {
			t.Errorf("the progress is %+v, the condition %s", p, h.condition("in", api.ConditionDegraded))
		}
		h.after(gapShown + 2*time.Minute)
		if got := h.condition("in", api.ConditionDegraded); got != "False AsExpected" {
			t.Errorf("after an hour it is %s", got)
		}
	})
}

// TestGoneForGood: after a 410 nothing is sent, also by another server, until the sink is changed; then what happened
// meanwhile is.
func TestGoneForGood(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["old.example"], h.receive["new.example"] = answers(410), answers(200)
		h.sink("in", 1, toHTTP("old.example"))
		h.happen("a")
		h.after(time.Second)
		h.stop()
		h.start(h.Context())
		h.happen("b")
		h.after(10 * time.Minute)
		if n := len(h.calls("old.example")); n != 1 || h.condition("in", api.ConditionReady) != "False ReceiverGone" {
			t.Errorf("called %d times, and it is %s", n, h.condition("in", api.ConditionReady))
		}
		h.sink("in", 2, toHTTP("new.example"))
		h.after(2 * time.Second)
		if got := events(h.calls("new.example")); got != "deployment.created prod/a, deployment.created prod/b" ||
			h.condition("in", api.ConditionReady) != "True Delivering" {
			t.Errorf("sent %s, and it is %s", got, h.condition("in", api.ConditionReady))
		}
	})
}

// TestASecretIsReadForEachAttempt: a value that is set later is found, and no record or log shows it.
func TestASecretIsReadForEachAttempt(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["in.example"] = answers(200)
		spec := toHTTP("in.example")
		spec.HTTP.Headers = map[string]string{"Authorization": "Bearer ${config.ops.hooks.TOKEN}"}
		h.sink("in", 1, spec)
		h.happen("a")
		h.after(10 * time.Second)
		if p := h.progress("in"); !strings.Contains(p.LastError,
			"there is no config value TOKEN; set it with tend config set ops/hooks") || len(h.calls("in.example")) > 0 {
			t.Errorf("the progress is %+v", p)
		}
		h.write(func(txn *records.Txn) { txn.Put(records.ConfigAppPrefix("ops", "hooks")+"TOKEN", []byte("s3cret")) })
		h.after(time.Minute)
		calls := h.calls("in.example")
		if len(calls) != 1 || calls[0].auth != "Bearer s3cret" {
			t.Errorf("called with %+v", calls)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if strings.Contains(h.lines.String(), "s3cret") {
			t.Error("the log shows the secret")
		}
	})
}

// TestARecreatedSinkBeginsAgain: a sink of the same name has nothing of the one before; a deleted one leaves nothing.
func TestARecreatedSinkBeginsAgain(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["in.example"] = answers(503)
		h.sink("in", 1, toHTTP("in.example"))
		h.happen("a")
		h.after(10 * time.Second)
		h.write(func(txn *records.Txn) { txn.Delete(records.ObjectKey(sinkRef("in"))) })
		h.after(10 * time.Second)
		if p := h.progress("in"); p.UID != "" || h.condition("in", api.ConditionReady) != "none" {
			t.Errorf("left behind: %+v, %s", p, h.condition("in", api.ConditionReady))
		}
		h.mu.Lock()
		h.receive["in.example"], h.called = answers(200), nil
		h.mu.Unlock()
		h.sink("in", 1, toHTTP("in.example"))
		h.happen("b")
		h.after(10 * time.Minute)
		if got := events(h.calls("in.example")); got != "deployment.created prod/b" {
			t.Errorf("sent %s", got)
		}
		h.stop()
		h.happen("c")
		object := *h.snapshot().Object(sinkRef("in")).Value
		object.Metadata.UID = "another"
		h.write(func(txn *records.Txn) { txn.Delete(records.ObjectKey(sinkRef("in"))) })
		h.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(sinkRef("in")), object) })
		h.start(h.Context())
		h.after(10 * time.Second)
		if p := h.progress("in"); p.UID != "another" || p.Sent != 0 || len(h.calls("in.example")) != 1 {
			t.Errorf("another sink of the name has %+v", p)
		}
		h.happen("d")
		object.Metadata.UID = "third"
		h.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(sinkRef("in")), object) })
		h.happen("e")
		h.after(10 * time.Second)
		if p := h.progress("in"); p.UID != "third" || p.Sent != 2 { // it begins where the object was created
			t.Errorf("a sink that replaced another while it sent has %+v", p)
		}
	})
}

// TestWhatAnotherSinkSentCountsForNothing: its call may say it after the next sink of the name was declared.
func TestWhatAnotherSinkSentCountsForNothing(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.stop()
		h.sink("in", 1, toHTTP("in.example"))
		kind := Kind(control.Deps{Snapshot: h.snapshot, Sealer: plainly{}}, Options{})
		for uid, sent := range map[string]int64{"uid-in": 7, "uid-before": 0} {
			said := track{now: api.SinkProgress{UID: uid, Sent: 7}, changes: changes{normal: 1}}
			step, err := kind.Step(control.Observation{
				Snapshot: h.snapshot(), Ref: sinkRef("in"), Object: h.snapshot().Object(sinkRef("in")), Now: time.Now(),
				Answers: map[string]calls.Answer{"send": {Value: said}},
			})
			if got := step.Memo.(known).now.Sent; err != nil || got != sent {
				t.Errorf("%s said that it sent 7, and the step knows of %d, %v", uid, got, err)
			}
		}
		h.start(h.Context())
	})
}

// TestProgressIsWrittenAtABoundedRate: a thousand events make few writes, and what a filter leaves out makes none a
// second.
func TestProgressIsWrittenAtABoundedRate(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["in.example"] = answers(200)
		h.sink("in", 1, toHTTP("in.example"))
		spec := toHTTP("in.example")
		spec.Filter.Scopes = []string{"none"}
		h.sink("idle", 1, spec)
		h.after(2 * time.Minute)
		before := [2]int64{h.snapshot().SinkProgress(sinkRef("in")).Modified,
			h.snapshot().SinkProgress(sinkRef("idle")).Modified}
		writes := [2]int{}
		for i := range 300 {
			h.happen(fmt.Sprint("w", i))
			h.after(10 * time.Millisecond)
			for j, name := range []string{"in", "idle"} {
				if at := h.snapshot().SinkProgress(sinkRef(name)).Modified; at != before[j] {
					before[j] = at
					writes[j]++
				}
			}
		}
		if writes[0] < 2 || writes[0] > 5 || writes[1] > 1 {
			t.Errorf("%d and %d writes in 3 s", writes[0], writes[1])
		}
		if n := len(h.calls("in.example")); n != 300 {
			t.Errorf("%d calls", n)
		}
	})
}

// TestASenderThatPanicsSendsAgain: the other sink gets everything at once, and what panicked is sent by a later
// attempt.
func TestASenderThatPanicsSendsAgain(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
	inHarness(t, func(h *harness) {
		h.receive["live.example"] = answers(200)
		h.receive["bad.example"] = func(_ context.Context, nth int) webhook.Answer {
			if nth < 3 {
				panic("an answer like no other")
			}
			return webhook.Answer{Status: 200}
		}
		h.sink("live", 1, toHTTP("live.example"))
		h.sink("bad", 1, toHTTP("bad.example"))
		h.happen("a", "b")
		if got := events(h.calls("live.example")); got != "deployment.created prod/a, deployment.created prod/b" {
			t.Errorf("the other sink got %s", got)
		}
		h.after(time.Minute)
		want := "deployment.created prod/a, deployment.created prod/a, deployment.created prod/a, deployment.created prod/b"
		if got := events(h.calls("bad.example")); got != want {
			t.Errorf("sent %s\nwant %s", got, want)
		}
	})
}
