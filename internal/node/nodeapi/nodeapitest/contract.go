package nodeapitest

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// Connect returns what a node of a world sees, ready to be read; it ends with the test.
type Connect func(t *testing.T, w *World, node string) nodeapi.Control

// Run checks a transport against the contract.
func Run(t *testing.T, connect Connect) {
	for name, test := range map[string]func(*testing.T, *World, nodeapi.Control){
		"Tasks":            tasks,
		"Notifications":    notifications,
		"Reports":          reports,
		"Refusals":         refusals,
		"Images":           images,
		"OneResolves":      oneResolves,
		"ReleaseImages":    releaseImages,
		"Registries":       registries,
		"BuildSecrets":     buildSecrets,
		"Files":            files,
		"Referred":         referred,
		"NothingOfOthers":  nothingOfOthers,
		"MadeAgain":        madeAgain,
		"Served":           served,
		"Labs":             labs,
		"Heartbeat":        heartbeat,
		"ReportsOfIngress": reportsOfIngress,
		"Networks":         networks,
		"PodsOfOthers":     podsOfOthers,
		"ReportsOfNetwork": reportsOfNetwork,
		"Resolves":         resolves,
		"Liar":             liar,
		"WildTimes":        wildTimes,
		"LongHeartbeat":    longHeartbeat,
		"Signs":            signs,
		"Relays":           relays,
		"OwnServices":      ownServices,
		"RoomForAccounts":  roomForAccounts,
		"NoIngress":        noIngress,
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWorld(t)
			control := connect(t, w, Here)
			select {
			case <-control.Synced():
			case <-time.After(patience):
				t.Fatal("never complete")
			}
			test(t, w, control)
		})
	}
	t.Run("Certificates", func(t *testing.T) {
		w := NewWorld(t)
		certificates(t, connect(t, w, Here).Certificates(), connect(t, w, There).Certificates())
	})
}

// tasks: a node sees its own, with their stored state, and their releases in plain text.
func tasks(t *testing.T, w *World, c nodeapi.Control) {
	changes := listen(t, c)
	task := w.Deploy("a", Here)
	changes.want(node.Change{Task: "a"})
	if got := c.Tasks(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("tasks %v", got)
	}
	got, known := c.Task("a")
	if !known || got.Task != task || got.Observed || got.Frozen || got.PluginAtWork || got.PredecessorOpen {
		t.Errorf("%+v, want %+v", got, task)
	}
	release, err := c.Release(t.Context(), task)
	if err != nil || release.Env["SECRET"] != "of a" || release.Image != "a.example/app:1" || !release.Confined {
		t.Errorf("%+v, %v", release, err)
	}
	unknown := task
	unknown.ID, unknown.Release = "b", "v9"
	if _, err := c.Release(t.Context(), unknown); !errors.Is(err, node.ErrNoRelease) {
		t.Errorf("a release that is gone: %v", err)
	}
	w.Commit(records.NewTxn("test").Delete(records.TaskKey("a")))
	w.Deploy("z", Here)
	changes.want(node.Change{Task: "z"})
	if _, known := c.Task("a"); known || slices.Contains(c.Tasks(), "a") {
		t.Error("a task that is gone is still there")
	}
}

// notifications: a node is notified of everything that a task's reconcile depends on.
func notifications(t *testing.T, w *World, c nodeapi.Control) {
	changes := listen(t, c)
	old, next := w.Deploy("old", There), w.Deploy("next", Here)
	next.Kind, next.Scope, next.Name = old.Kind, old.Scope, old.Name
	follows := func(before string) {
		next.After = before
		w.Commit(records.NewTxn("test").Put(records.TaskKey(next.ID), next))
	}
	follows(old.ID)
	becomes := func(reason string, holds func(node.Assignment) bool) {
		t.Helper()
		changes.want(node.Change{Task: "next"})
		eventually(t, changes, func() (any, bool) {
			got, _ := c.Task("next")
			return reason, holds(got)
		})
		changes.forget()
	}
	becomes("the predecessor has not ended", func(a node.Assignment) bool { return a.PredecessorOpen })
	w.Commit(records.NewTxn("test").Put(records.TaskStatusKey("old"),
		api.TaskStatus{ID: "old", Node: There, State: api.TaskComplete}))
	becomes("the predecessor ended on another node", func(a node.Assignment) bool { return !a.PredecessorOpen })
	for _, on := range []string{Here, There} {
		before := w.Deploy("before-"+on, on)
		before.Kind, before.Scope, before.Name = old.Kind, old.Scope, old.Name
		w.Commit(records.NewTxn("test").Put(records.TaskKey(before.ID), before))
		follows(before.ID)
		becomes("another predecessor has not ended", func(a node.Assignment) bool { return a.PredecessorOpen })
		if on == Here { // its own report
			if err := c.Report(t.Context(),
				node.Report{Tasks: []api.TaskStatus{{ID: before.ID, Node: Here, State: api.TaskComplete}}}); err != nil {
				t.Fatal(err)
			}
			becomes("the predecessor ended on this node", func(a node.Assignment) bool { return !a.PredecessorOpen })
		}
		w.Commit(records.NewTxn("test").Delete(records.TaskKey(before.ID)).Delete(records.TaskStatusKey(before.ID)))
		becomes("the predecessor is gone", func(a node.Assignment) bool { return !a.PredecessorOpen })
	}
	w.Commit(records.NewTxn("test").Put(records.FrozenKey(next.Owner(), next.Slot), api.Frozen{Slot: next.Slot}))
	becomes("the slot is frozen", func(a node.Assignment) bool { return a.Frozen })
}

// reports: a report can be read once its call has returned, and moves forward only.
func reports(t *testing.T, w *World, c nodeapi.Control) {
	changes := listen(t, c)
	w.Deploy("a", Here)
	changes.want(node.Change{Task: "a"})
	for _, state := range []api.TaskState{api.TaskStarting, api.TaskRunning, api.TaskFailed} {
		status := api.TaskStatus{ID: "a", Node: Here, State: state, Message: string(state)}
		if err := c.Report(t.Context(), node.Report{Tasks: []api.TaskStatus{status}}); err != nil {
			t.Fatal(err)
		}
		if got, _ := c.Task("a"); !got.Observed || got.Status.State != state || got.Status.Message != string(state) {
			t.Errorf("reported %s and read %+v", state, got.Status)
		}
	}
	facts := api.NodeStatus{ID: Here, Hostname: "host-1", Ready: true}
	if err := c.Report(t.Context(), node.Report{Node: &facts}); err != nil {
		t.Fatal(err)
	}
	if got := w.snapshot().Node(Here); !got.Exists() || got.Value.Hostname != "host-1" {
		t.Errorf("facts %+v", got.Value)
	}
	if err := c.Report(t.Context(),
		node.Report{Tasks: []api.TaskStatus{{ID: "gone", Node: Here, State: api.TaskRunning}}}); err != nil {
		t.Errorf("what is gone is dropped: %v", err)
	}
}

// refusals: a node reports only on its own, no state moves backward, and what runs once has one container.
func refusals(t *testing.T, w *World, c nodeapi.Control) {
	w.Deploy("own", Here)
	w.Deploy("foreign", There)
	once := w.Deploy("once", Here)
	once.Class = api.ClassOnce
	w.Commit(records.NewTxn("test").Put(records.TaskKey(once.ID), once))
	ended := api.TaskStatus{ID: "own", Node: Here, State: api.TaskFailed}
	first := api.TaskStatus{ID: "once", Node: Here, State: api.TaskPreparing, Container: "c1"}
	if err := c.Report(t.Context(), node.Report{Tasks: []api.TaskStatus{ended, first}}); err != nil {
		t.Fatal(err)
	}
	again := first
	again.Container = "c2"
	back, off := ended, ended
	back.State, off.Reason = api.TaskRunning, api.ReasonNodeDown
	for name, report := range map[string]node.Report{
		"another node's task": {Tasks: []api.TaskStatus{{ID: "foreign", Node: Here, State: api.TaskRunning}}},
		"another node's name": {Tasks: []api.TaskStatus{{ID: "own", Node: There, State: api.TaskFailed}}},
		"another's facts":     {Node: &api.NodeStatus{ID: There}},
		"a task that is kept": {Forget: []string{"own"}},
		"a step back":         {Tasks: []api.TaskStatus{back}},
		"another container":   {Tasks: []api.TaskStatus{again}},
		"a person's word":     {Tasks: []api.TaskStatus{off}},
	} {
		var refused *node.RefusedError
		if err := c.Report(t.Context(), report); !errors.Is(err, node.ErrForbidden) || !errors.As(err, &refused) ||
			len(refused.Parts) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	facts := api.NodeStatus{ID: Here, Hostname: "host-1"}
	mixed := node.Report{Node: &facts, Tasks: []api.TaskStatus{back}}
	if err := c.Report(t.Context(), mixed); !errors.Is(err, node.ErrForbidden) || !w.snapshot().Node(Here).Exists() {
		t.Errorf("the rest of a report is written: %v", err)
	}
}

func registries(t *testing.T, w *World, c nodeapi.Control) {
	w.Deploy("a", Here)
	changes := listen(t, c)
	w.Object(api.KindRegistry, "own", api.RegistrySpec{URL: "a.example", Username: "me", Token: sealed("t0ken")})
	changes.want(node.Change{Registry: "a.example"})
	got, declared, err := c.Registry(t.Context(), "a.example")
	if err != nil || !declared || got != (node.Registry{Username: "me", Token: "t0ken"}) {
		t.Errorf("%+v %v %v", got, declared, err)
	}
	if _, declared, err := c.Registry(t.Context(), "nobody.example"); declared || err != nil {
		t.Errorf("an undeclared registry: %v %v", declared, err)
	}
}

func files(t *testing.T, w *World, c nodeapi.Control) {
	w.Deploy("a", Here)
	content, err := c.Blob(t.Context(), "sha256:a")
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if got, err := io.ReadAll(content); err != nil || string(got) != "file of a" {
		t.Errorf("%q %v", got, err)
	}
	delete(w.Blobs, "sha256:a")
	if _, err := c.Blob(t.Context(), "sha256:a"); !errors.Is(err, node.ErrNoBlob) {
		t.Errorf("bytes that are gone: %v", err)
	}
}

// nothingOfOthers: node A can't read node B's environment, credentials, files or keys, whatever it requests.
func nothingOfOthers(t *testing.T, w *World, c nodeapi.Control) {
	theirs := w.Deploy("theirs", There)
	w.Object(api.KindRegistry, "theirs", api.RegistrySpec{URL: "theirs.example", Username: "them", Token: sealed("t0ken")})
	if _, known := c.Task("theirs"); known || len(c.Tasks()) != 0 {
		t.Error("their task is seen")
	}
	if got, err := c.Release(t.Context(), theirs); !errors.Is(err, node.ErrForbidden) || got.Env != nil {
		t.Errorf("their release: %+v %v", got, err)
	}
	pretended := theirs
	pretended.Node = Here
	if got, err := c.Release(t.Context(), pretended); !errors.Is(err, node.ErrForbidden) || got.Env != nil {
		t.Errorf("their release as if it were ours: %+v %v", got, err)
	}
	invented := theirs
	invented.ID, invented.Node = "invented", Here
	if got, err := c.Release(t.Context(), invented); err == nil || got.Env != nil {
		t.Errorf("their release by a task that isn't there: %+v %v", got, err)
	}
	if got, _, err := c.Registry(t.Context(), "theirs.example"); !errors.Is(err, node.ErrForbidden) ||
		got != (node.Registry{}) {
		t.Errorf("their credentials: %+v %v", got, err)
	}
	build := &api.ImageBuild{ID: "abc", Tree: "sha256:tree", Build: api.Build{Secrets: []string{"TOKEN"}}}
	w.config(records.ConfigAppPrefix(theirs.Scope, theirs.Name)+"TOKEN", "t0ken")
	w.Blobs[build.Tree] = "source"
	w.Commit(records.NewTxn("test").Put(records.AliveKey(There), There).
		Put(records.ImageKey(theirs.Owner()),
			api.ImageRequest{Owner: theirs.Owner(), Image: "theirs.example/app:1", Build: build}))
	if got, _, err := c.Registry(t.Context(), "theirs.example"); !errors.Is(err, node.ErrForbidden) ||
		got != (node.Registry{}) {
		t.Errorf("their credentials while their image is asked for: %+v %v", got, err)
	}
	if _, err := c.Blob(t.Context(), build.Tree); !errors.Is(err, node.ErrForbidden) {
		t.Errorf("the source of what they run: %v", err)
	}
	if got, err := c.BuildSecrets(t.Context(), theirs.Owner()); !errors.Is(err, node.ErrForbidden) || got != nil {
		t.Errorf("the secrets of what they build: %v %v", got, err)
	}
	if _, err := c.Blob(t.Context(), "sha256:theirs"); !errors.Is(err, node.ErrForbidden) {
		t.Errorf("their file: %v", err)
	}
}

func heartbeat(t *testing.T, w *World, c nodeapi.Control) {
	for range 3 {
		if err := c.Alive(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	entry, err := w.Store.Get(t.Context(), records.AliveKey(Here))
	if err != nil || entry.Lease == 0 || entry.Created != entry.Modified {
		t.Errorf("one write, bound to a lease, however often it is renewed: %+v %v", entry, err)
	}
}
