package controlplane

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
)

// dryKinds are the kinds on the Shell, each with specs that it may be declared with.
var dryKinds = map[api.Kind][]string{
	api.KindDeployment: {
		`{"image":"web:1","replicas":1}`, `{"image":"web:2","replicas":2}`, `{"image":"web:1","replicas":0}`,
	},
	api.KindStatefulSet: {`{"image":"web:1","replicas":2}`, `{"image":"web:2","replicas":1}`},
	api.KindJob: {
		`{"image":"web:1"}`, `{"image":"web:1","run_on_release":true}`, `{"image":"web:2","run_on_release":true}`,
	},
	api.KindCronJob: {
		`{"image":"web:1","schedule":"*/5 * * * *"}`,
		`{"image":"web:2","schedule":"*/7 * * * *","concurrency_policy":"Replace"}`,
	},
	api.KindLab: {
		`{"image":"web:1","duration":"1h"}`, `{"image":"web:1","duration":"2h"}`, `{"image":"web:2","duration":"30m"}`,
	},
	api.KindIngress: {`{"host":"shop.example","service":"deployment"}`, `{"host":"shop.example","service":"none"}`},
	api.KindNetwork: {`{}`},
	api.KindSync:    {`{"dir":"/srv/a"}`, `{"dir":"/srv/b"}`},
	api.KindCluster: {`{}`, `{"drift":"report"}`},
	api.KindApplicationInstance: {
		instance("1.0.0"), instance("2.0.0"),
	},
	api.KindOperation: {
		`{"cluster":"cluster","targetRef":{"name":"applicationinstance"},"type":"Backup","engine":"velero"}`,
	},
}

// noDryKinds are the kinds that the plane can preview and the property does not declare, each with the reason.
var noDryKinds = map[api.Kind]string{
	"flapping":   "its steps are about nodes, and no object is declared for it",
	"leftover":   "its steps are about tasks whose object may be gone",
	"unanswered": "its steps are about requests for images, and no object is declared for it",
	"autoscale":  "its steps are about the load of deployments, which a dry run doesn't know",
	"delivery":   "its steps are about calls that others asked for, and no object is declared for it",
	api.KindSink: "its steps write how far it is, and have no actions: the log says what is sent",
}

// TestEveryKindHasItsDryRunCompared: a new kind is declared in the random worlds, or says why not.
func TestEveryKindHasItsDryRunCompared(t *testing.T) {
	w := newDryWorld(t)
	defer w.end()
	for kind := range w.previews {
		if len(dryKinds[kind]) == 0 && noDryKinds[kind] == "" {
			t.Errorf("%s is on the Shell, and dryKinds has no spec of it", kind)
		}
	}
}

func instance(version string) string {
	return fmt.Sprintf(`{"cluster":"cluster","appRef":{"catalogId":"x"},
		"chart":{"sourceType":"oci","url":"oci://r/c","name":"x",
		"version":%q},"release":{"name":"a"},"values":{"source":"inline","inline":{}}}`, version)
}

// dryWorld is a plane whose controllers are called one at a time, with a fake agent and a fake operator.
type dryWorld struct {
	*Plane
	store       *memory.Store
	now         time.Time
	controllers map[string]control.Controller
	last        store.Txn
	logged      []string
	after       time.Duration // when the last reconcile wants the next one
	// made are the calls for syncs, and woken the ends of those; polled is the revision of the sync whose poll is running.
	made   chan string
	woken  chan struct{}
	polled int64
	uids   int
	end    func()
}

func newDryWorld(t *testing.T) *dryWorld {
	w := &dryWorld{store: memory.New(), controllers: map[string]control.Controller{}}
	w.now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	v := newVictim(t, w.store)
	v.Now, v.Logger = func() time.Time { return w.now }, slog.New(planLog{slog.DiscardHandler, w})
	w.Plane = New(v.Options)
	for _, c := range w.Plane.controllers(w) {
		w.controllers[c.Name()] = c
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.View.Run(ctx) })
	w.call(ctx, &running)
	w.end = func() { cancel(); running.Wait(); _ = w.store.Close() }
	<-w.View.Synced()
	w.put(t, records.NodeKey("n1"), api.NodeStatus{ID: "n1", Ready: true, Runtime: "hollow", MemoryBytes: 1 << 30})
	w.put(t, records.AliveKey("n1"), "n1")
	return w
}

// call makes the calls for syncs, on a source that never answers.
func (w *dryWorld) call(ctx context.Context, running *sync.WaitGroup) {
	w.made, w.woken = make(chan string, 1), make(chan struct{}, 1)
	syncs := w.controllers[string(api.KindSync)].(*control.Shell)
	syncs.Kind.Call = func(ctx context.Context, _ records.Read[api.Object], call control.Call) any {
		w.made <- call.Text
		<-ctx.Done()
		return nil
	}
	running.Go(func() { _ = syncs.Source(ctx, func(...reconciler.Key) { w.woken <- struct{}{} }) })
	<-w.woken // calls are made from now on
}

// made is a call that was made, among the records that were written.
type made string

// calls returns the call that a reconcile of a sync made; empty if it ended that of an earlier revision.
func (w *dryWorld) calls(rt *rapid.T, ref api.Ref) string {
	revision := w.snapshot().Object(ref).Modified
	late := time.After(time.Minute)
	switch w.polled {
	case revision:
	case 0:
		select {
		case text := <-w.made:
			w.polled = revision
			return text
		case <-late:
			rt.Fatal("no call is made")
		}
	default:
		select {
		case <-w.woken:
			w.polled = 0
		case <-late:
			rt.Fatal("the call of an earlier revision goes on")
		}
	}
	return ""
}

// planLog records the actions that controllers log.
type planLog struct {
	slog.Handler
	w *dryWorld
}

func (planLog) Enabled(context.Context, slog.Level) bool { return true }
func (l planLog) WithAttrs([]slog.Attr) slog.Handler     { return l }

func (l planLog) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(attr slog.Attr) bool {
		if r.Message == "plan" && attr.Key == "action" {
			l.w.logged = append(l.w.logged, attr.Value.String())
		}
		return true
	})
	return nil
}

// Commit implements records.Committer for the controllers.
func (w *dryWorld) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	w.last = txn
	return w.store.Commit(ctx, txn)
}

func (w *dryWorld) put(t rapid.TB, key string, value any) {
	t.Helper()
	w.write(t, func(txn *records.Txn) { txn.Put(key, value) })
}

// finds returns the node's answer about the image of an object: sometimes it has the image.
func (w *dryWorld) finds(rt *rapid.T, object api.Object) []records.Found {
	if !object.Kind.HasContainers() || !rapid.Bool().Draw(rt, "the node says that it has the image") {
		return nil
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		rt.Fatal(err)
	}
	request := imageask.Request(object, spec)
	return []records.Found{{Answer: api.ImageStatus{
		Owner: request.Owner, OwnerUID: request.OwnerUID, Node: "n1", Image: request.Image, Nonce: request.Nonce,
		State: api.ImagePresent, ImageID: "sha256:" + request.Image, UpdatedAt: w.now,
	}}}
}

func (w *dryWorld) write(t rapid.TB, fill func(*records.Txn)) {
	t.Helper()
	txn := records.NewTxn("test")
	fill(txn)
	w.await(t)(txn.Commit(context.Background(), w.store))
}

func (w *dryWorld) await(t rapid.TB) func(int64, error) {
	t.Helper()
	return func(revision int64, err error) {
		t.Helper()
		if err == nil {
			err = w.View.WaitFor(context.Background(), revision)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// object returns the stored object of a kind, or a new one. There is one of each kind, with the kind's name.
func (w *dryWorld) object(kind api.Kind) api.Object {
	ref := api.Ref{Kind: kind, Scope: "prod", Name: string(kind)}
	if kind.Info().Scope == api.ScopeNone {
		ref.Scope = api.Unscoped
	}
	if only := kind.Info().Only; only != "" {
		ref.Name = only
	}
	if stored := w.snapshot().Object(ref); stored.Exists() {
		return *stored.Value
	}
	w.uids++
	object := api.Object{Kind: kind, Scope: ref.Scope, Name: ref.Name}
	object.Metadata = api.Metadata{UID: strings.Repeat("u", w.uids), CreatedAt: w.now, UpdatedAt: w.now}
	if finalizer := kind.Info().Finalizer; finalizer != "" {
		object.Metadata.Finalizers = []string{finalizer}
	}
	return object
}

// some returns an object that is stored.
func (w *dryWorld) some(rt *rapid.T) (api.Object, bool) {
	var all []api.Object
	for _, kind := range slices.Sorted(maps.Keys(dryKinds)) {
		if object := w.object(kind); w.snapshot().Object(object.Ref()).Exists() {
			all = append(all, object)
		}
	}
	if len(all) == 0 {
		return api.Object{}, false
	}
	return rapid.SampledFrom(all).Draw(rt, "object"), true
}

// reconcile reconciles an object once. It returns the logged actions and the written records; a deleted one is nil.
func (w *dryWorld) reconcile(rt *rapid.T, ref api.Ref) (logged []string, wrote map[string]any) {
	w.last, w.logged, wrote = store.Txn{}, nil, map[string]any{}
	result, err := w.controllers[string(ref.Kind)].Reconcile(context.Background(), control.Key(ref))
	if reconciler.IsTerminal(err) {
		err = nil
	}
	w.await(rt)(result.Revision, err)
	w.after = result.After
	if ref.Kind == api.KindSync {
		if text := w.calls(rt, ref); text != "" {
			wrote["call"] = made(text)
		}
	}
	for _, op := range w.last.Do {
		if op.Delete {
			wrote[op.Key] = nil
		} else if value, err := records.Decode(op.Key, op.Value); err == nil {
			wrote[op.Key] = value
		}
	}
	return w.logged, wrote
}
