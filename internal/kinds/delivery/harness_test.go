package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/storefault"
	"tend.dev/tend/internal/store/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var web = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

// harness is the controller under its queue, over a store in memory, with receivers that are functions. It runs in a
// synctest bubble: time passes when every goroutine waits.
type harness struct {
	testing.TB
	store *memory.Store
	view  *view.View
	c     *control.Shell
	work  *reconciler.Controller
	// kill ends the controller that was started last, and its calls.
	kill func()

	mu sync.Mutex
	// receive holds the receiver of each host; called are the requests made, in order.
	receive map[string]func(ctx context.Context, nth int) webhook.Answer
	called  []call
	counted map[string]int
	// reads counts how often a file was read.
	reads int
	// fate decides the fate of each commit; nil answers all of them.
	fate func(store.Txn) storefault.Fate
}

type call struct {
	request webhook.Request
	at      time.Duration // since the harness began
}

// inHarness runs a test in a bubble and stops the harness afterwards.
func inHarness(t *testing.T, test func(l *harness)) {
	synctest.Test(t, func(t *testing.T) {
		l := &harness{TB: t, store: memory.New(), receive: map[string]func(context.Context, int) webhook.Answer{},
			counted: map[string]int{}}
		l.view = view.New(l.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
		ctx, cancel := context.WithCancel(t.Context())
		var parts sync.WaitGroup
		parts.Go(func() { _ = l.view.Run(ctx) })
		<-l.view.Synced()
		stop := l.start(ctx, &parts)
		test(l)
		stop()
		cancel()
		parts.Wait()
		_ = l.store.Close()
	})
}

// start runs a controller, as a server does at boot. stop cuts the calls under way, as a kill does.
func (l *harness) start(ctx context.Context, parts *sync.WaitGroup) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	l.kill = cancel
	began := time.Now()
	deps := control.Deps{Snapshot: func() records.Snapshot { return records.Snapshot{Reader: l.view.Snapshot()} },
		Store: storefault.New(l.store, l.fated), Sealer: plainly{}}
	l.c = control.New(deps, Kind(deps, Options{
		Call: func(ctx context.Context, r webhook.Request) webhook.Answer {
			l.mu.Lock()
			l.called = append(l.called, call{r, time.Since(began)})
			nth, receive := 0, l.receive[r.Host()]
			for _, c := range l.called {
				if c.request.URL == r.URL {
					nth++
				}
			}
			l.mu.Unlock()
			return receive(ctx, nth)
		},
		Blob: func(digest string) ([]byte, error) {
			l.mu.Lock()
			l.reads++
			l.mu.Unlock()
			if digest != "sha256:body" {
				return nil, errors.New("no such blob")
			}
			return []byte(`{"text":"{{name}} is {{status}}"}`), nil
		},
		Count:  func(outcome string) { l.mu.Lock(); l.counted[outcome]++; l.mu.Unlock() },
		Spread: func() float64 { return 0 },
	}))
	l.work = reconciler.New(reconciler.Options{
		Name: "delivery", Reconciler: l.c, Replay: l.c.Keys, Dirty: l.c.Dirty,
		Synced: l.view.Synced(), Revision: l.view.Revision, WaitFor: l.view.WaitFor,
	})
	l.view.OnChange(func(change view.Change) { l.work.Enqueue(l.c.Affected(records.Snapshot{}, change)...) })
	var running sync.WaitGroup
	running.Go(func() { _ = l.work.Run(ctx) })
	running.Go(func() { _ = l.c.Source(ctx, l.work.Enqueue) })
	return func() { cancel(); running.Wait() }
}

func (l *harness) fated(txn store.Txn) storefault.Fate {
	if l.fate == nil {
		return storefault.Answered
	}
	return l.fate(txn)
}

func (l *harness) write(fill func(*records.Txn)) {
	l.Helper()
	txn := records.NewTxn("test")
	fill(txn)
	if _, err := txn.Commit(l.Context(), l.store); err != nil {
		l.Fatal(err)
	}
}

// object stores the object that the hooks belong to.
func (l *harness) object(hooks ...api.Webhook) {
	l.Helper()
	spec, err := json.Marshal(api.DeploymentSpec{OnDeploy: &api.DeployHooks{Success: hooks}})
	if err != nil {
		l.Fatal(err)
	}
	l.write(func(txn *records.Txn) {
		txn.Put(records.ObjectKey(web), api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: spec,
			Metadata: api.Metadata{
				UID: "uid", Stamps: map[string]string{api.StampHookAssets: `{"prod.notes.body":"sha256:body"}`},
			}})
	})
}

// config sets values of buckets by their key behind /config/.
func (l *harness) config(pairs ...string) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		for i := 0; i < len(pairs); i += 2 {
			txn.Put(records.ConfigPrefix+pairs[i], []byte(pairs[i+1]))
		}
	})
}

// plainly is a Sealer that leaves values in plain text.
type plainly struct{ control.Sealer }

func (plainly) Decrypt(sealed []byte) ([]byte, error) { return sealed, nil }

// deliver records a call of the hook at an index.
func (l *harness) deliver(id string, hook int) {
	l.Helper()
	l.write(func(txn *records.Txn) {
		txn.Put(records.DeliveryKey(web, id), api.Delivery{
			ID: id, Kind: web.Kind, Scope: web.Scope, Name: web.Name,
			Hook:   "on_deploy.success[" + string(rune('0'+hook)) + "]",
			Tokens: map[string]string{"name": "web", "status": "succeeded"}, State: api.DeliveryPending,
			CreatedAt: time.Now(),
		})
	})
}

func (l *harness) delivery(id string) api.Delivery {
	l.Helper()
	read := records.Snapshot{Reader: l.view.Snapshot()}.Delivery(web, id)
	if !read.Exists() {
		return api.Delivery{}
	}
	return *read.Value
}

// after lets time pass.
func (l *harness) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (l *harness) calls() []call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]call(nil), l.called...)
}

func header(c call, name string) (value string) {
	for _, field := range c.request.Header {
		if field.Name == name {
			value = field.Value
		}
	}
	return value
}

func answers(status int) func(context.Context, int) webhook.Answer {
	return func(context.Context, int) webhook.Answer { return webhook.Answer{Status: status} }
}

// silent is a receiver that never answers.
func silent(ctx context.Context, _ int) webhook.Answer {
	<-ctx.Done()
	return webhook.Answer{Err: errors.New("no answer in time")}
}
