package workload

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// crowd is a harness with several workloads that depend on each other and on nodes.
type crowd struct {
	*harness
	controllers map[api.Kind]*controller
	refs        []api.Ref
}

func newCrowd(t *testing.T) *crowd {
	l := &crowd{harness: newHarness(t), refs: []api.Ref{web, db, data}}
	l.images["web:1"], l.images["web:2"] = "sha256:1", "sha256:2"
	// A heartbeat that is seen to end did so some time ago: a node is lost earlier than those who only see that it is
	// silent expect.
	l.liveness = owner.NewLiveness(0, 20*time.Second, func() time.Time { return l.now })
	l.controllers = map[api.Kind]*controller{}
	for _, kind := range []api.Kind{api.KindDeployment, api.KindStatefulSet} {
		l.controllers[kind] = newController(l.c.Deps, kind, l.liveness)
	}
	for _, node := range []string{"n1", "n2"} {
		l.reports(node, "hollow", true)
	}
	return l
}

func (l *crowd) reports(node, runtime string, ready bool) {
	l.write(func(txn *records.Txn) {
		txn.Put(records.AliveKey(node), "now").
			Put(records.NodeKey(node), api.NodeStatus{ID: node, Runtime: runtime, Ready: ready, Message: "away",
				MemoryBytes: 100 << 20})
	})
}

// events are what may happen. After each, controllers, scheduler and agents work for a while, mostly until they are at
// rest.
func (l *crowd) events() map[string]func(*rapid.T) {
	events := map[string]func(*rapid.T){
		"declare": func(rt *rapid.T) { l.declares(rt, l.pick(rt)) },
		"delete":  func(rt *rapid.T) { l.change(l.pick(rt), func(o *api.Object) { o.Metadata.DeletedAt = &l.now }) },
		"stamp":   l.stamps,
		"status":  l.befalls,
		"back":    func(rt *rapid.T) { l.now = l.now.Add(-l.while(rt)) },
		"wait":    func(rt *rapid.T) { l.now = l.now.Add(l.while(rt)) },
		"await":   func(rt *rapid.T) { l.now = l.now.Add(l.while(rt)) },
		"silence": func(rt *rapid.T) { l.fallsSilent(l.node(rt)) },
		"notice":  func(*rapid.T) { l.notices() },
		"return":  func(rt *rapid.T) { l.returns(l.node(rt)) },
		"confirm": func(rt *rapid.T) {
			if node := l.node(rt); !l.snapshot().Alive(node) {
				l.confirmDown(node)
			}
		},
		"node":   l.nodeChanges,
		"config": l.config,
		"freeze": l.freezes,
		"move":   l.moves,
		"image": func(rt *rapid.T) {
			l.images["web:1"] = rapid.SampledFrom([]string{"sha256:1", "sha256:9", ""}).Draw(rt, "id")
		},
		"fate": func(rt *rapid.T) {
			l.fails[rapid.SampledFrom([]string{"v1", "v2", "v3"}).Draw(rt, "release")] = rapid.Bool().Draw(rt, "fails")
		},
		"forget": l.forgets,
		"key":    func(rt *rapid.T) { l.sealer.lost = rapid.IntRange(0, 9).Draw(rt, "lost") == 0 },
	}
	out := map[string]func(*rapid.T){"work": l.works}
	for name, event := range events {
		out[name] = func(rt *rapid.T) {
			event(rt)
			l.agrees(rt)
			l.works(rt)
		}
	}
	return out
}

func (l *crowd) while(rt *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{time.Second, 5 * time.Second, time.Minute, 10 * time.Minute,
		time.Hour}).Draw(rt, "while")
}

func (l *crowd) pick(rt *rapid.T) api.Ref { return rapid.SampledFrom(l.refs).Draw(rt, "workload") }
func (l *crowd) node(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"n1", "n2", "n3"}).Draw(rt, "node")
}

// works lets controllers, scheduler and agents work for some rounds, or until they are at rest.
func (l *crowd) works(rt *rapid.T) {
	l.rounds(rapid.SampledFrom([]int{1, 3, 20, 20, 20}).Draw(rt, "rounds"), l.refs...)
}

func (l *crowd) rounds(n int, refs ...api.Ref) {
	for range n {
		acted := false
		for _, ref := range refs {
			l.ref, l.c = ref, l.controllers[ref.Kind]
			looked, _ := l.look() // what can't be reconciled says so in its status
			placed := l.place()
			acted = l.runAgent() || looked.Revision > 0 || placed.Revision > 0 || acted
		}
		if !acted {
			return
		}
		l.pass(1)
	}
}

func (l *crowd) declares(rt *rapid.T, ref api.Ref) {
	spec := replicas(rapid.IntRange(0, 3).Draw(rt, "replicas"),
		rapid.SampledFrom([]string{"web:1", "web:1", "web:2", "none:1"}).Draw(rt, "image"))
	switch rapid.IntRange(0, 15).Draw(rt, "also") {
	case 0:
		if ref != db {
			spec.Env = map[string]string{"A": "${ref.deployment.db.image}"}
		}
	case 1:
		spec.Env = map[string]string{"B": "${config.KEY}"}
	case 2:
		spec.DependsOn = &api.DependsOn{Workloads: []string{"deployment/db"}}
	case 3:
		spec.Release = &api.ReleaseHooks{PreCommand: []string{"check"}, PostCommand: []string{"tell"}}
	case 4, 9, 10:
		spec.Resources = &api.Resources{Reservations: &api.ResourceReservations{Memory: "60Mi"}} // a node has room for one
	case 8, 11:
		spec.Placement = &api.Placement{Constraints: []string{"node.labels.disk == ssd"}}
	case 5:
		spec.OnProbe = &api.ProbeHooks{Failure: []api.Webhook{{URL: "https://hooks.example/x"}},
			Recovery: []api.Webhook{{URL: "https://hooks.example/y"}}}
	case 6:
		if ref.Kind == api.KindDeployment {
			spec.Mode = api.ModeGlobal
		}
	case 7:
		spec.EnvFrom = []string{"shared/common"}
	}
	l.stores(ref, spec)
}

// stores declares a workload.
func (l *crowd) stores(ref api.Ref, spec api.DeploymentSpec) {
	l.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		l.Fatal(err)
	}
	l.change(ref, func(o *api.Object) {
		if string(o.Spec) != string(raw) {
			o.Spec, o.Metadata.Generation = raw, o.Metadata.Generation+1
		}
	})
}

// change stores an object with a change, and a new one if there is none.
func (l *crowd) change(ref api.Ref, change func(*api.Object)) {
	object := api.Object{
		Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: []byte(`{"image":"web:1","replicas":1}`),
		Metadata: api.Metadata{Generation: 1, Finalizers: []string{api.FinalizerTasks}},
	}
	if old := l.snapshot().Object(ref); old.Exists() {
		object = *old.Value
	}
	change(&object)
	l.put(object)
}

// fallsSilent ends a node's heartbeat. That is read at once, and noticed later, as two parts of a server may see it.
func (l *crowd) fallsSilent(node string) {
	l.cut[node] = true
	l.write(func(txn *records.Txn) { txn.Delete(records.AliveKey(node)) })
}

// notices reports to the keeper of heartbeats which ones have ended.
func (l *crowd) notices() {
	s := l.snapshot()
	for _, node := range s.Nodes() {
		if id := node.Value.ID; !s.Alive(id) {
			l.liveness.Notice(view.Change{Key: records.AliveKey(id), Deleted: true})
		}
	}
}

func (l *crowd) stamps(rt *rapid.T) {
	name := rapid.SampledFrom([]string{
		api.StampRestart, api.StampRollback, api.StampPull, api.StampQuietEnv, api.StampRetry,
		api.StampRebootstrap + "0",
	}).Draw(rt, "stamp")
	value := rapid.SampledFrom([]string{"", "1", "2", "v1"}).Draw(rt, "value")
	l.change(l.pick(rt), func(o *api.Object) { *o = stamped(*o, name, value) })
}

// befalls changes what is reported of a task, at any time.
func (l *crowd) befalls(rt *rapid.T) {
	tasks := l.snapshot().Tasks()
	if len(tasks) == 0 {
		return
	}
	status := l.snapshot().TaskStatus(rapid.SampledFrom(tasks).Draw(rt, "task").Value.ID)
	if !status.Exists() {
		return
	}
	next := *status.Value
	at := l.now.Add(time.Duration(rapid.IntRange(-3600, 3600).Draw(rt, "s")) * time.Second)
	switch rapid.IntRange(0, 6).Draw(rt, "what") {
	case 0:
		next.State, next.Ready, next.Reason, next.FinishedAt = api.TaskFailed, false, "Exited", at
	case 1:
		next.Ready = !next.Ready
	case 2:
		next.CrashLoop = !next.CrashLoop
	case 3:
		next.Steady = !next.Steady
	case 4:
		next.StartedAt, next.RunningAt = at, at
	case 5:
		next.ReadyAt = at
	case 6:
		next.Probes = map[string]api.ProbeStatus{"readiness": {
			Phase:      rapid.SampledFrom([]api.ProbePhase{api.ProbeHealthy, api.ProbeUnhealthy}).Draw(rt, "phase"),
			Since:      at,
			Transition: rapid.IntRange(1, 3).Draw(rt, "transition"),
		}}
	}
	l.write(func(txn *records.Txn) { txn.Put(records.TaskStatusKey(next.ID), next) })
}

// forgets removes the record of a node, or the report on a task.
func (l *crowd) forgets(rt *rapid.T) {
	keys := []string{records.NodeKey("n3")}
	for _, task := range l.snapshot().Tasks() {
		keys = append(keys, records.TaskStatusKey(task.Value.ID))
	}
	key := rapid.SampledFrom(keys).Draw(rt, "key")
	l.write(func(txn *records.Txn) { txn.Delete(key) })
}

func (l *crowd) nodeChanges(rt *rapid.T) {
	node := l.node(rt)
	switch rapid.IntRange(0, 3).Draw(rt, "what") {
	case 0:
		l.declare(node, api.NodeSpec{Availability: rapid.SampledFrom([]string{api.NodeCordoned, api.NodeDrained,
			""}).Draw(rt, "availability")})
	case 1:
		l.declare(node, api.NodeSpec{Labels: map[string]string{"disk": rapid.SampledFrom([]string{"ssd",
			"hdd"}).Draw(rt, "disk")}})
	case 2:
		ready, runtime := rapid.Bool().Draw(rt, "ready"),
			rapid.SampledFrom([]string{"hollow", "process"}).Draw(rt, "runtime")
		l.reports(node, runtime, ready)
	case 3:
		l.write(func(txn *records.Txn) {
			txn.Put(records.LossesKey(node), api.NodeLosses{At: []time.Time{l.now, l.now, l.now},
				Until: l.now.Add(time.Minute)})
		})
	}
}

func (l *crowd) config(rt *rapid.T) {
	prefix := rapid.SampledFrom([]string{
		records.ConfigScopePrefix("prod"), records.ConfigAppPrefix("prod", "web"),
		records.ConfigAppPrefix("shared", "common"),
	}).Draw(rt, "bucket")
	value := rapid.SampledFrom([]string{"sealed:1", "sealed:2", "unreadable", ""}).Draw(rt, "value")
	l.write(func(txn *records.Txn) {
		if value == "" {
			txn.Delete(prefix + "KEY")
			return
		}
		txn.Put(prefix+"KEY", []byte(value))
	})
}

func (l *crowd) freezes(rt *rapid.T) {
	ref := l.pick(rt)
	slots := []string{"0", "1"}
	for _, task := range l.snapshot().TasksOf(ref) {
		slots = append(slots, task.Value.Slot)
	}
	slot, thaws := rapid.SampledFrom(slots).Draw(rt, "slot"), rapid.Bool().Draw(rt, "thaws")
	l.write(func(txn *records.Txn) {
		if key := records.FrozenKey(ref, slot); thaws {
			txn.Delete(key)
		} else {
			txn.Put(key, api.Frozen{Slot: slot})
		}
	})
}

// moves has a rebalance move a task.
func (l *crowd) moves(rt *rapid.T) {
	ref := l.pick(rt)
	moves := api.Moves{Tasks: map[string]string{}}
	for _, task := range l.snapshot().TasksOf(ref) {
		moves.Tasks[task.Value.ID] = l.node(rt)
	}
	l.write(func(txn *records.Txn) { txn.Put(records.MovesKey(ref), moves) })
}
