package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
)

// backup copies the content of the store.
func (m *machine) backup() []store.Op {
	m.t.Helper()
	page, err := m.store.List(context.Background(), "/", store.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	var out []store.Op
	for _, entry := range page.Entries {
		if entry.Lease == 0 {
			out = append(out, store.Op{Key: entry.Key, Value: entry.Value})
		}
	}
	return out
}

// restore replaces the machine's store with an older one.
func (m *machine) restore(entries []store.Op) {
	m.t.Helper()
	_ = m.store.Close()
	m.store = memory.New()
	if _, err := m.store.Commit(context.Background(), store.Txn{Site: "test", Do: entries}); err != nil {
		m.t.Fatal(err)
	}
}

// runs returns the names of the containers that run, with their images.
func (m *machine) runs() (out []string) {
	for _, c := range m.engine.Containers() {
		if c.State == runtime.StateRunning {
			out = append(out, c.Name+" "+c.ImageID)
		}
	}
	slices.Sort(out)
	return out
}

// wantPaused waits until the node of a paused server has listed its containers.
func (r *running) wantPaused(quarantined int) {
	r.t.Helper()
	r.until("it is paused, and its node shows what it doesn't know", func() bool {
		readiness, err := r.client.Readiness(context.Background())
		if err != nil || readiness.Ready || !strings.Contains(strings.Join(readiness.Missing, " "), "paused") {
			return false
		}
		nodes, err := r.client.Nodes(context.Background())
		return err == nil && len(nodes.Items) == 1 && nodes.Items[0].Reason == api.ReasonPaused &&
			len(nodes.Items[0].Quarantined) == quarantined
	})
}

// TestRestoredStoreStartsPaused: with an older store, the server starts nothing until a person decides about the
// running containers.
func TestRestoredStoreStartsPaused(t *testing.T) {
	ctx := context.Background()
	m := newMachine(t)
	first := m.engine.AddImage("web:1")
	m.engine.AddImage("web:2")
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(2))))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	older := m.backup()
	r = m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, func(s *api.DeploymentSpec) { replicas(2)(s); s.Image = "web:2" })))
	r.until("v2 alone runs", func() bool { return len(m.engine.Containers()) == 2 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	before, calls := m.runs(), m.engine.Mutations()

	m.restore(older)
	for range 2 { // a restart doesn't end the pause
		r = m.start(nil)
		r.wantPaused(2)
		if _, err := r.client.Apply(ctx, api.ApplyRequest{Objects: []api.Object{manifestOf(web, replicas(3))}}); err == nil ||
			!strings.Contains(err.Error(), "paused") {
			t.Errorf("an apply: %v", err)
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
	r = m.start(nil)
	r.wantPaused(2)
	if _, err := r.client.Resume(ctx, ""); err == nil || !strings.Contains(err.Error(), "tend resume --stop") {
		t.Errorf("without a choice: %v", err)
	}
	if after := m.runs(); !slices.Equal(before, after) || m.engine.Mutations() != calls {
		t.Fatalf("paused, it touched containers: %v, then %v", before, after)
	}
	result, err := r.client.Resume(ctx, api.UnknownStop)
	if err != nil || len(result.Stopped) != 2 || len(result.Adopted) != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	r.ready().until("two run the release of the store", func() bool {
		running := m.runs()
		return len(running) == 2 && len(m.engine.Containers()) == 2 && strings.HasSuffix(running[0], first) &&
			strings.HasSuffix(running[1], first)
	})
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	m.start(nil).ready() // the restored store counts from now on
}

// goesOn resumes over a restored store that has a task for both pods, and checks that they kept running untouched.
func (m *machine) goesOn(ref api.Ref, before []string, calls int) {
	m.t.Helper()
	r := m.start(nil)
	r.wantPaused(2)
	result, err := r.client.Resume(context.Background(), "")
	if err != nil || len(result.Adopted) != 2 || len(result.Unknown) != 0 {
		m.t.Fatalf("%+v, %v", result, err)
	}
	r.ready().converged(ref, 0)
	if after := m.runs(); !slices.Equal(before, after) || m.engine.Mutations() != calls {
		m.t.Errorf("they did not just go on: %v, then %v", before, after)
	}
}

// restarted applies a workload of two, restarts it, so that each pod has another container, and stops the server. It
// returns a backup from before the restart.
func (m *machine) restarted(object api.Object) (older []store.Op) {
	m.t.Helper()
	m.engine.AddImage("web:1")
	r := m.start(nil).ready()
	r.converged(object.Ref(), r.apply(object))
	if err := r.stop(); err != nil {
		m.t.Fatal(err)
	}
	older = m.backup()
	old := m.engine.Containers()
	r = m.start(nil).ready()
	restarted, err := r.client.Restart(context.Background(), client.TargetOf(object.Ref()))
	if err != nil {
		m.t.Fatal(err)
	}
	r.converged(object.Ref(), restarted.Revision)
	r.until("both have other containers", func() bool {
		now := m.engine.Containers()
		return len(m.runs()) == 2 && len(now) == 2 && !slices.ContainsFunc(now, func(c runtime.Container) bool {
			return slices.ContainsFunc(old, func(before runtime.Container) bool { return before.ID == c.ID })
		})
	})
	if err := r.stop(); err != nil {
		m.t.Fatal(err)
	}
	return older
}

// TestRestoredStoreAdopts: containers that run the release in the older store take the places of its pods; those of a
// statefulset each in its own slot.
func TestRestoredStoreAdopts(t *testing.T) {
	for _, ref := range []api.Ref{web, data} {
		t.Run(ref.String(), func(t *testing.T) {
			m := newMachine(t)
			older := m.restarted(manifestOf(ref, replicas(2)))
			before, calls := m.runs(), m.engine.Mutations()

			m.restore(older)
			m.goesOn(ref, before, calls)
		})
	}
}

// TestRestoredStorePlacesWhatRuns: the store is older than the choice of a node for a task whose container runs.
func TestRestoredStorePlacesWhatRuns(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(2))))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	older := slices.DeleteFunc(m.backup(),
		func(op store.Op) bool { return strings.HasPrefix(op.Key, records.ActualTasksPrefix) })
	for i, op := range older {
		var task api.Task
		if strings.HasPrefix(op.Key, records.TasksPrefix) && json.Unmarshal(op.Value, &task) == nil {
			task.Node = ""
			older[i].Value, _ = json.Marshal(task)
		}
	}
	before, calls := m.runs(), m.engine.Mutations()

	m.restore(older)
	m.goesOn(web, before, calls)
}

// TestProgressIsNoReasonToPause: neither a kill nor a damaged or missing progress file pauses a server.
func TestProgressIsNoReasonToPause(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(1))))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	m.start(nil).ready().stop()
	found, err := filepath.Glob(filepath.Join(m.root, "clusters", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	for reason, harm := range map[string]func() error{
		"damaged": func() error { return os.WriteFile(found[0], []byte(`{"revi`), 0o600) },
		"missing": func() error { return os.Remove(found[0]) },
	} {
		if err := harm(); err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		if err := m.start(nil).ready().stop(); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestAResumeGoesOnWithoutAnAbsentNode: with --keep it does, and names the node. When the node returns, its containers
// that the store doesn't know are in quarantine: nothing starts beside an ordinal's container. Then --stop stops them,
// also while another node is absent, and even one that would fit a pod without a container.
func TestAResumeGoesOnWithoutAnAbsentNode(t *testing.T) {
	for _, ref := range []api.Ref{web, data} {
		t.Run(ref.String(), func(t *testing.T) {
			m := newMachine(t)
			older := m.restarted(manifestOf(ref, replicas(2)))
			lost, err := json.Marshal(api.NodeStatus{ID: "lost", Runtime: "hollow"})
			if err != nil {
				t.Fatal(err)
			}
			before := m.runs()
			m.restore(append(older, store.Op{Key: records.NodeKey("lost"), Value: lost}))
			m.resumesWithout("lost", "n1")
			m.engine.Before(func(verb, _ string) error {
				if verb == "create" {
					return errors.New("the disk is full")
				}
				return nil
			})
			r := m.start(nil)
			r.until("the node is back, and what it runs is in quarantine", func() bool {
				nodes, err := r.client.Nodes(t.Context())
				return err == nil && slices.ContainsFunc(nodes.Items,
					func(n api.NodeInfo) bool { return len(n.Quarantined) == 2 })
			})
			if after := m.runs(); !slices.Equal(before, after) {
				t.Errorf("it touched containers: %v, then %v", before, after)
			}
			result, err := r.client.Resume(t.Context(), api.UnknownStop)
			if err != nil || len(result.Stopped) != 2 || !slices.Equal(result.Absent, []string{"lost"}) {
				t.Fatalf("%+v, %v", result, err)
			}
			m.engine.Before(nil)
			r.ready().converged(ref, 0)
		})
	}
}

// resumesWithout resumes a cluster without any connected node, and stops the server.
func (m *machine) resumesWithout(nodes ...string) {
	m.t.Helper()
	ctx := context.Background()
	r := m.startWith(func(o *Options) { o.NoAgent = true })
	r.until("it is paused", func() bool {
		readiness, err := r.client.Readiness(ctx)
		return err == nil && strings.Contains(strings.Join(readiness.Missing, " "), "paused")
	})
	for _, unknown := range []api.UnknownContainers{"", api.UnknownStop} {
		if _, err := r.client.Resume(ctx, unknown); err == nil || !strings.Contains(err.Error(), "not connected") ||
			!strings.Contains(err.Error(), "tend resume --keep") {
			m.t.Errorf("%q: %v", unknown, err)
		}
	}
	result, err := r.client.Resume(ctx, api.UnknownKeep)
	if slices.Sort(result.Absent); err != nil || !slices.Equal(result.Absent, nodes) {
		m.t.Fatalf("%+v, %v", result, err)
	}
	if err := r.stop(); err != nil {
		m.t.Fatal(err)
	}
}
