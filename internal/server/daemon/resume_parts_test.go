package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/adoption"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/storefault"
	"tend.dev/tend/internal/store/view"
)

// TestManyAdoptions: a resume adopts more containers than fit into a commit. After each commit every task replaces one
// that is stored, so that a resume after a crash goes on from there.
func TestManyAdoptions(t *testing.T) {
	const tasks = 2*adoptedAtOnce + 100
	s, commits := memory.New(), 0
	cut := true
	faulty := storefault.New(s, func(txn store.Txn) storefault.Fate {
		if commits++; txn.Site == "resume.adopt" && cut && commits%2 == 0 {
			return storefault.Lost
		}
		return storefault.Answered
	})
	v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- v.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; _ = s.Close() })
	<-v.Synced()
	d := &daemon{store: faulty, view: v}

	term, err := s.Commit(ctx, store.Txn{Site: "test", Do: []store.Op{{Key: controlplane.ElectionKey}}})
	if err != nil {
		t.Fatal(err)
	}
	var orphans []adoption.Orphan
	for n := range tasks {
		old := api.Task{ID: fmt.Sprintf("old%05d", n), Kind: web.Kind, Scope: web.Scope, Name: web.Name,
			Slot: fmt.Sprintf("a%05d", n), Release: "v1", Desired: api.DesiredRunning}
		if n%2 == 1 {
			old.Replaces = fmt.Sprintf("a%05d", n-1)
		}
		revision, err := records.NewTxn("test").CreateTask(old).Commit(ctx, s)
		if err = errors.Join(err, v.WaitFor(ctx, revision)); err != nil {
			t.Fatal(err)
		}
		orphans = append(orphans, adoption.Orphan{ID: fmt.Sprint(n), Task: fmt.Sprintf("new%05d", n), Owner: web,
			Slot: fmt.Sprintf("b%05d", n), Release: "v1", Running: true})
	}
	for cut = true; ; cut = false {
		snap := d.snapshot()
		var vacant []adoption.Vacant
		var left []adoption.Orphan
		for _, task := range snap.Tasks() {
			if task.Value.ID < "old" {
				continue
			}
			vacant = append(vacant, adoption.Vacant{Task: *task.Value, Succeeded: succeeded(snap, *task.Value)})
		}
		for _, o := range orphans {
			if !snap.Task(o.Task).Exists() {
				left = append(left, o)
			}
		}
		adopted, _ := adoption.Match(vacant, left)
		if err := d.adopt(ctx, snap, adopted, term); (err != nil) != cut {
			t.Fatalf("cut %v: %v", cut, err)
		}
		wantLinked(t, d.snapshot(), tasks)
		if !cut {
			break
		}
	}
	for _, task := range d.snapshot().Tasks() {
		if task.Value.ID > "old" {
			t.Fatalf("%s was not adopted", task.Value.ID)
		}
	}
}

// wantLinked checks that there are so many tasks, half of which replace a stored one.
func wantLinked(t *testing.T, snap records.Snapshot, tasks int) {
	t.Helper()
	linked := 0
	all := snap.Tasks()
	for _, task := range all {
		if task.Value.Replaces == "" {
			continue
		}
		if linked++; !snap.Slot(web, task.Value.Replaces).Exists() {
			t.Fatalf("%s replaces %s, which is not stored", task.Value.ID, task.Value.Replaces)
		}
	}
	if len(all) != tasks || linked != tasks/2 {
		t.Errorf("%d tasks, %d of which replace another; want %d and %d", len(all), linked, tasks, tasks/2)
	}
}

// TestAPauseBeginsAsAResumeWorks: the pause that a resume ends has begun just now, so this server gives the term up in
// which the resume began. The resume changes nothing, and the next one has a term of its own.
func TestAPauseBeginsAsAResumeWorks(t *testing.T) {
	m := newMachine(t)
	m.restore(m.restarted(manifestOf(web, replicas(2))))
	var opened *daemon
	armed := &atomic.Bool{}
	r := m.startWith(func(o *Options) {
		o.Name, o.Shared, o.opened = "a", true, func(d *daemon) { opened = d }
		o.AroundRuntime = func(engine runtime.Runtime) runtime.Runtime {
			return listedBy{engine, armed, func() { opened.abdicate(context.Background()) }}
		}
	})
	r.wantPaused(2)
	armed.Store(true)
	if _, err := r.client.Resume(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "tend resume continues") {
		t.Fatalf("in a term that has ended: %v", err)
	}
	if result, err := r.client.Resume(t.Context(), ""); err != nil || len(result.Adopted) != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	r.ready().converged(web, 0)
}
