package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/kinds/autoscaler"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// BenchmarkPass measures one pass of all controllers over a cluster in the desired state: deployments of 50 running
// pods.
func BenchmarkPass(b *testing.B) {
	for _, size := range []struct{ nodes, pods int }{{10, 500}, {100, 10_000}, {1_000, 100_000}} {
		b.Run(fmt.Sprintf("%d-%d", size.nodes, size.pods), func(b *testing.B) {
			w := settledWorld(b, size.nodes, size.pods)
			b.ReportAllocs()
			used := processorTime(b)
			for b.Loop() {
				if dirty := w.dirty(); len(dirty) > 0 {
					b.Fatalf("%v are not settled", dirty)
				}
			}
			used = (processorTime(b) - used) / time.Duration(b.N)
			took := b.Elapsed() / time.Duration(b.N)
			for unit, value := range map[string]time.Duration{"ms": took, "cpu-ms": used} {
				fmt.Printf("bench: pass-%d-%d-%s %.3f\n", size.nodes, size.pods, unit,
					float64(value)/float64(time.Millisecond))
			}
			b.ReportMetric(float64(used)/float64(time.Millisecond), "cpu-ms/op")
		})
	}
}

// passWorld is a store with its view, the controllers of a term, and nodes that report what they should.
type passWorld struct {
	b           *testing.B
	store       *memory.Store
	view        *view.View
	now         time.Time
	controllers []control.Controller
}

type unsealed struct{}

func (unsealed) Encrypt(plain []byte) ([]byte, error)  { return plain, nil }
func (unsealed) Decrypt(sealed []byte) ([]byte, error) { return sealed, nil }
func (unsealed) HMAC(data []byte) string               { return fmt.Sprintf("%x", data) }

func settledWorld(b *testing.B, nodes, pods int) *passWorld {
	b.Helper()
	const replicas = 50
	w := &passWorld{b: b, store: memory.New(), now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.view = view.New(w.store, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.view.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-ended; _ = w.store.Close() })
	<-w.view.Synced()
	plane := New(Options{
		View: w.view, Sealer: unsealed{}, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return w.now },
		ReplicasHolder: func(api.Object) string { return "" },
		Effects: Effects{
			Call: func(context.Context, webhook.Request) webhook.Answer { return webhook.Answer{} },
			Load: func(context.Context, []string) []autoscaler.Sample { return nil },
		},
	})
	w.controllers = plane.controllers(w.store)
	for i := range nodes {
		id := fmt.Sprint("n", i)
		w.commit(records.NewTxn("bench").Put(records.NodeKey(id),
			api.NodeStatus{ID: id, Runtime: "hollow", Ready: true}).Put(records.AliveKey(id), id))
	}
	count := replicas
	spec, err := json.Marshal(api.DeploymentSpec{Container: api.Container{Image: "web:1"}, Replicas: &count})
	if err != nil {
		b.Fatal(err)
	}
	for i := range pods / replicas {
		ref := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: fmt.Sprint("web", i)}
		w.commit(records.NewTxn("bench").Put(records.ObjectKey(ref), api.Object{
			Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: spec,
			Metadata: api.Metadata{UID: ref.Name, Generation: 1},
		}))
		if i%20 == 19 {
			w.settle() // few at a time: waiting tasks are planned again with each
		}
	}
	w.settle()
	return w
}

func (w *passWorld) settle() {
	w.b.Helper()
	for range 20 {
		if !w.advance() && len(w.dirty()) == 0 {
			return
		}
	}
	w.b.Fatalf("%v do not settle", w.dirty())
}

// dirty runs a pass, and returns the keys that it would queue.
func (w *passWorld) dirty() (out []reconciler.Key) {
	for _, c := range w.controllers {
		out = append(out, c.Dirty(w.now)...)
	}
	return out
}

// advance reconciles the dirty keys and writes the nodes' reports. wrote reports whether it wrote anything.
func (w *passWorld) advance() (wrote bool) {
	w.b.Helper()
	for _, c := range w.controllers {
		for _, key := range c.Dirty(w.now) {
			result, err := c.Reconcile(w.b.Context(), key)
			if err == nil {
				err = w.view.WaitFor(w.b.Context(), result.Revision)
			}
			if err != nil {
				w.b.Fatal(err)
			}
			wrote = wrote || result.Revision > 0
		}
	}
	w.now = w.now.Add(time.Minute)
	s, txn := records.Snapshot{Reader: w.view.Snapshot()}, records.NewTxn("bench")
	for _, request := range s.ImageRequests() {
		status := api.ImageStatus{Owner: request.Value.Owner, OwnerUID: request.Value.OwnerUID, Node: "n0",
			Image: "web:1", State: api.ImagePresent, ImageID: "sha256:1"}
		if key := records.ImageStatusKey("n0", request.Value.Owner); !s.ImageStatus("n0",
			request.Value.Owner).Exists() {
			txn.Put(key, status)
		}
	}
	for _, task := range s.Tasks() {
		if task.Value.Node != "" && !s.TaskStatus(task.Value.ID).Exists() {
			txn.Put(records.TaskStatusKey(task.Value.ID), api.TaskStatus{
				ID: task.Value.ID, Node: task.Value.Node, State: api.TaskRunning, Ready: true, Steady: true,
				Container: "c-" + task.Value.ID,
				StartedAt: w.now, RunningAt: w.now, ReadyAt: w.now,
			})
		}
		if txn.Len() > 5000 {
			w.commit(txn)
			txn, wrote = records.NewTxn("bench"), true
		}
	}
	if !txn.Empty() {
		w.commit(txn)
		wrote = true
	}
	w.now = w.now.Add(time.Minute)
	return wrote
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func (w *passWorld) commit(txn *records.Txn) {
	w.b.Helper()
	revision, err := txn.Commit(w.b.Context(), w.store)
	if err == nil {
		err = w.view.WaitFor(w.b.Context(), revision)
	}
	if err != nil {
		w.b.Fatal(err)
	}
}
