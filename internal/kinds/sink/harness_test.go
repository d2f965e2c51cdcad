package sink

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	core "tend.dev/tend/internal/core/sink"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const source = "/tend/clusters/test"

// plainly is a Sealer that leaves values in plain text.
type plainly struct{ control.Sealer }

func (plainly) Decrypt(sealed []byte) ([]byte, error) { return sealed, nil }

// harness is the controller under its queue, over a store in memory with its log of events. Receivers are functions.
// It runs in a synctest bubble: time passes when every goroutine waits.
type harness struct {
	testing.TB
	store    *memory.Store
	recorder *eventlog.Recorder
	view     *view.View
	log      *eventlog.Log
	stop     func()

	mu sync.Mutex
	// receive holds the receiver of each host; called are the calls made, in order.
	receive map[string]func(ctx context.Context, nth int) webhook.Answer
	called  []called
	mails   []core.Mail
	// mailbox has the addresses that don't take a mail, and their answer.
	mailbox map[string]core.Answer
	counted map[string]int
	lines   strings.Builder
}

type called struct {
	host, id, event, auth string
	at                    time.Duration
}

func inHarness(t *testing.T, test func(h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{TB: t, store: memory.New(), receive: map[string]func(context.Context, int) webhook.Answer{},
			counted: map[string]int{}}
		h.log = eventlog.New(eventlog.Options{Store: h.store, Prefix: records.EventsPrefix, Source: source})
		h.view = view.New(h.store, view.Options{
			Decode: records.Decode, Indexes: records.Indexes,
			Aside: []view.Aside{{Prefix: records.EventsPrefix, Reader: h.log}},
		})
		h.recorder = eventlog.Record(h.store, h.view.Snapshot, time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		var parts sync.WaitGroup
		parts.Go(func() { _ = h.view.Run(ctx) })
		<-h.view.Synced()
		h.start(ctx)
		test(h)
		h.stop()
		cancel()
		parts.Wait()
		_ = h.store.Close()
	})
}

// start runs a controller, as a server does that begins to lead. stop ends it, as a kill does: nothing is written any
// more.
func (h *harness) start(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	began := time.Now()
	h.mu.Lock()
	logger := slog.New(slog.NewTextHandler(locked{h}, nil))
	h.mu.Unlock()
	deps := control.Deps{Snapshot: h.snapshot, Store: h.recorder, Sealer: plainly{}, Logger: logger}
	c := control.New(deps, Kind(deps, Options{
		Log: h.log, Source: source,
		Effects: Effects{
			Call: func(ctx context.Context, r webhook.Request) webhook.Answer {
				return h.call(ctx, r,
					time.Since(began))
			},
			Mail: func(_ context.Context, m core.Mail) (out []core.Answer) {
				h.mu.Lock()
				defer h.mu.Unlock()
				for _, to := range m.To {
					answer, other := h.mailbox[to]
					if !other {
						answer = core.Answer{Status: 250}
						one := m
						one.To = []string{to}
						h.mails = append(h.mails, one)
					}
					out = append(out, answer)
				}
				return out
			},
		},
		Count:  func(kind, outcome string) { h.mu.Lock(); h.counted[kind+" "+outcome]++; h.mu.Unlock() },
		Spread: func() float64 { return 0 },
	}))
	work := reconciler.New(reconciler.Options{
		Name: "sink", Reconciler: c, Replay: c.Keys, Dirty: c.Dirty, Synced: h.view.Synced(), Revision: h.view.Revision,
		WaitFor: h.view.WaitFor,
	})
	h.view.OnChange(func(change view.Change) {
		if ctx.Err() == nil {
			work.Enqueue(c.Affected(records.Snapshot{}, change)...)
		}
	})
	var running sync.WaitGroup
	running.Go(func() { _ = work.Run(ctx) })
	running.Go(func() { _ = c.Source(ctx, work.Enqueue) })
	h.stop = func() { cancel(); running.Wait() }
}

// locked writes to the lines of the harness.
type locked struct{ *harness }

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (h *harness) snapshot() records.Snapshot { return records.Snapshot{Reader: h.view.Snapshot()} }

func (h *harness) call(ctx context.Context, r webhook.Request, at time.Duration) webhook.Answer {
	c := called{host: r.Host(), at: at.Round(time.Second)}
	for _, field := range r.Header {
		switch field.Name {
		case "Webhook-Id":
			c.id = field.Value
		case "Authorization":
			c.auth = field.Value
		}
	}
	var e api.Event
	if json.Unmarshal(r.Body, &e) == nil {
		c.event = strings.TrimSpace(e.Type + " " + e.Subject)
	}
	h.mu.Lock()
	nth := 1
	for _, other := range h.called {
		if other.host == c.host {
			nth++
		}
	}
	h.called = append(h.called, c)
	receive := h.receive[c.host]
	h.mu.Unlock()
	return receive(ctx, nth)
}

// calls returns the calls to a host.
func (h *harness) calls(host string) (out []called) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.called {
		if c.host == host {
			out = append(out, c)
		}
	}
	return out
}

// events returns which events were called with, in order.
func events(calls []called) string {
	var out []string
	for _, c := range calls {
		out = append(out, c.event)
	}
	return strings.Join(out, ", ")
}

func answers(status int) func(context.Context, int) webhook.Answer {
	return func(context.Context, int) webhook.Answer { return webhook.Answer{Status: status} }
}

// silent never answers.
func silent(ctx context.Context, _ int) webhook.Answer {
	<-ctx.Done()
	return webhook.Answer{Err: ctx.Err()}
}

// write commits, and waits until the view has seen it and the controller has done what it does about it.
func (h *harness) write(fill func(*records.Txn)) {
	h.Helper()
	txn := records.NewTxn("test")
	fill(txn)
	if _, err := txn.Commit(h.Context(), h.recorder); err != nil {
		h.Fatal(err)
	}
	synctest.Wait()
}

func sinkRef(name string) api.Ref {
	return api.Ref{Kind: api.KindSink, Scope: api.Unscoped, Name: name}
}

// sink declares a sink.
func (h *harness) sink(name string, generation int64, spec api.SinkSpec) {
	h.Helper()
	ref := sinkRef(name)
	raw, err := json.Marshal(spec)
	if err != nil {
		h.Fatal(err)
	}
	object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: name, Spec: raw,
		Metadata: api.Metadata{UID: "uid-" + name, Generation: generation}}
	if found := api.ValidateObject(object); len(found) > 0 {
		h.Fatal(found)
	}
	h.write(func(txn *records.Txn) { txn.Put(records.ObjectKey(ref), object) })
	synctest.Wait()
}

// toHTTP is a sink of the events of the scope prod.
func toHTTP(host string) api.SinkSpec {
	return api.SinkSpec{HTTP: &api.SinkHTTP{URL: "https://" + host + "/events"},
		Filter: &api.SinkFilter{Scopes: []string{"prod"}}}
}

// happen creates objects, each of which makes an event.
func (h *harness) happen(names ...string) {
	h.Helper()
	for _, name := range names {
		ref := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name}
		h.write(func(txn *records.Txn) {
			txn.Put(records.ObjectKey(ref), api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: name,
				Spec: []byte(`{"image":"a"}`), Metadata: api.Metadata{UID: "uid-" + name, Generation: 1}})
		})
	}
	synctest.Wait()
}

// becomes writes a workload's status: degraded for a reason, or as it should be.
func (h *harness) becomes(name, reason string) {
	h.Helper()
	ready, degraded := api.ConditionTrue, api.ConditionFalse
	if reason != "" {
		ready, degraded = degraded, ready
	}
	h.write(func(txn *records.Txn) {
		txn.Put(records.StatusKey(api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name}),
			api.WorkloadStatus{ObservedGeneration: 1, Conditions: []api.Condition{
				{Type: api.ConditionReady, Status: ready, Reason: "x"},
				{Type: api.ConditionDegraded, Status: degraded, Reason: reason, Message: "because"},
			}})
	})
	synctest.Wait()
}

func (h *harness) after(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the clock of the bubble
	synctest.Wait()
}

// progress returns what is stored of a sink.
func (h *harness) progress(name string) api.SinkProgress {
	h.Helper()
	synctest.Wait()
	if stored := h.snapshot().SinkProgress(sinkRef(name)); stored.Exists() {
		return *stored.Value
	}
	return api.SinkProgress{}
}

// condition returns status and reason of a sink's condition.
func (h *harness) condition(name, kind string) string {
	h.Helper()
	if c := h.conditionOf(name, kind); c.Type != "" {
		return fmt.Sprintf("%s %s", c.Status, c.Reason)
	}
	return "none"
}

// conditionOf returns a sink's condition; zero if it has none.
func (h *harness) conditionOf(name, kind string) api.Condition {
	h.Helper()
	record, _ := h.snapshot().Get(records.StatusKey(sinkRef(name)))
	status, ok := record.Value.(*api.SinkStatus)
	if !ok {
		return api.Condition{}
	}
	if c := api.FindCondition(status.Conditions, kind); c != nil {
		return *c
	}
	return api.Condition{}
}
