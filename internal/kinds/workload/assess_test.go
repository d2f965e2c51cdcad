package workload

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/core/rollout"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

func TestStrategyOrder(t *testing.T) {
	for name, test := range map[string]struct {
		reason   string
		declared string
		runtimes []string
		edit     func(*api.DeploymentSpec)
		image    string // the runtime that has it
		want     string
	}{
		"docker": {"containers have ports of their own", "", []string{"docker"}, nil, "docker",
			api.OrderStartFirst},
		"no node yet": {"nothing is known against it", "", nil, nil, "", api.OrderStartFirst},
		"process": {"plain processes share the host's ports", "", []string{"process"}, nil, "process",
			api.OrderStopFirst},
		"both": {"a slot may come to lie on either", "", []string{"docker", "process"}, nil, "",
			api.OrderStopFirst},
		"both, of Docker": {"no plain process can be of it", "", []string{"docker", "process"}, nil, "docker",
			api.OrderStartFirst},
		"both, of a folder": {"only a plain process can be of it", "", []string{"docker", "process"}, nil, "process",
			api.OrderStopFirst},
		"both, by a field": {"no plain process honours it", "", []string{"docker", "process"},
			func(s *api.DeploymentSpec) { s.ReadOnly = true },
			"", api.OrderStartFirst},
		"both, placed apart": {"its nodes run containers", "", []string{"docker", "process"},
			func(s *api.DeploymentSpec) {
				s.Placement = &api.Placement{Constraints: []string{"node.labels.zone == eu"}}
			}, "", api.OrderStartFirst},
		"process, declared": {"a strategy that says so is followed", api.OrderStartFirst, []string{"process"}, nil,
			"process", api.OrderStartFirst},
		"volume": {"two would write into it", "", []string{"docker"},
			func(s *api.DeploymentSpec) { s.Volumes = []string{"data:/data"} },
			"docker", api.OrderStopFirst},
	} {
		t.Run(name, func(t *testing.T) {
			o := scene{spec: replicas(1, "web:1")}.observed()
			o.spec.Strategy = &api.Strategy{Order: test.declared}
			if test.edit != nil {
				test.edit(&o.spec.DeploymentSpec)
			}
			l := newHarness(t)
			l.write(func(txn *records.Txn) {
				txn.Delete(records.NodeKey("n1"))
				for i, runtime := range test.runtimes {
					id := fmt.Sprint("m", i)
					txn.Put(records.NodeKey(id), api.NodeStatus{ID: id, Runtime: runtime})
				}
			})
			o.set = new(owner.Nodes).At(l.snapshot())
			if got := o.strategy(o.need(test.image)).Order; got != test.want {
				t.Errorf("%s: %s, want %s", test.reason, got, test.want)
			}
		})
	}
}

// The input of the planner.
func TestDesired(t *testing.T) {
	s := scene{
		spec: replicas(3, "web:1"), frozen: []string{"a"}, stamps: map[string]string{api.StampRestart: "7"},
		rollout: api.RolloutStatus{TargetRelease: "v2", LastGoodRelease: "v1"},
	}
	s.spec.Probes = &api.Probes{Readiness: &api.Probe{}}
	o := s.observed()
	got := o.desired(target{release: o.release("v2")})
	want := rollout.Desired{
		Replicas: 3, Target: rollout.Version{Release: "v2", Restart: "7"}, LastGood: "v1",
		Frozen: map[string]bool{"a": true}, KeepDead: keepDead, Strategy: got.Strategy,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !got.Strategy.WaitReady || got.Strategy.OnFailure != api.OnFailureRollback {
		t.Errorf("strategy: %+v", got.Strategy)
	}
	s.rollout.LastGoodRelease = "v0"
	if o := s.observed(); o.desired(target{release: o.release("v2")}).LastGood != "" {
		t.Error("a release that is gone is nothing to return to")
	}
}

// A scale together with another change doesn't first create pods that it then replaces.
func TestReplicasWhileTheImageIsLookedFor(t *testing.T) {
	two := []owner.Task{slot("a", "v1", nil), slot("b", "v1", nil)}
	at := func(state api.ImageState) *api.ImageStatus { return &api.ImageStatus{Image: "web:1", State: state} }
	for name, test := range map[string]struct {
		reason string
		was    *api.RolloutStatus
		wanted int
		awaits bool
		image  *api.ImageStatus
		want   int
	}{
		"known":   {"nothing stands against it", &api.RolloutStatus{Replicas: 2}, 5, false, nil, 5},
		"unknown": {"it would be replaced at once", &api.RolloutStatus{Replicas: 2}, 5, true, nil, 2},
		"pulling": {"still", &api.RolloutStatus{Replicas: 2}, 5, true, at(api.ImagePulling), 2},
		"can't be had": {"a wrong image doesn't keep it small", &api.RolloutStatus{Replicas: 2}, 5, true,
			at(api.ImageFailed), 5},
		"down":          {"what isn't wanted goes at once", &api.RolloutStatus{Replicas: 2}, 1, true, nil, 1},
		"healing":       {"what was there is brought back", &api.RolloutStatus{Replicas: 3}, 5, true, nil, 3},
		"status lost":   {"what runs stays", nil, 5, true, nil, 2},
		"not notified":  {"a status that doesn't say it kills nothing", &api.RolloutStatus{}, 5, true, nil, 2},
		"lost and down": {"unless it isn't wanted", nil, 1, true, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := scene{spec: replicas(test.wanted, "web:1"), tasks: two, image: test.image}.observed()
			if o.status.Value.Rollout = test.was; test.was == nil {
				o.status.Value = nil
			}
			if got := o.replicas(target{awaits: test.awaits}); got != test.want {
				t.Errorf("%s: %d, want %d", test.reason, got, test.want)
			}
		})
	}
}

// The planner sees both halves of a task, and the scheduler's refusal.
func TestSlots(t *testing.T) {
	at := epoch.Add(time.Second)
	task := api.Task{ID: "t", Slot: "s", Replaces: "r", After: "u", Release: "v1", Restart: "2",
		Desired: api.DesiredRunning, CreatedAt: epoch, EndedAt: at}
	status := api.TaskStatus{
		State: api.TaskFailed, Ready: true, CrashLoop: true, Reason: "R", Message: "M", StartedAt: at, RunningAt: at,
		ReadyAt: at, FinishedAt: at.Add(time.Second),
	}
	placed := task
	placed.Node = "n1"
	o := observed{
		tasks: []owner.Task{
			{Desired: records.Read[api.Task]{Value: &task}},
			{Desired: records.Read[api.Task]{Value: &placed}, Status: &status},
		},
		refusals: map[string]placement.Refusal{},
	}
	base := rollout.Slot{
		ID: "s", Task: "t", Replaces: "r", After: "u", Version: rollout.Version{Release: "v1", Restart: "2"},
		Desired: api.DesiredRunning, State: api.TaskPending, CreatedAt: epoch, EndedAt: at,
	}
	observedSlot := base
	observedSlot.Placed, observedSlot.Observed, observedSlot.State, observedSlot.Ready, observedSlot.CrashLoop = true,
		true, api.TaskFailed, true, true
	observedSlot.Reason, observedSlot.Message, observedSlot.StartedAt, observedSlot.RunningAt,
		observedSlot.ReadyAt = "R", "M", at, at, at
	observedSlot.EndedAt = at.Add(time.Second)
	if diff := cmp.Diff([]rollout.Slot{base, observedSlot}, o.slots()); diff != "" {
		t.Error(diff)
	}
	for name, tc := range map[string]struct {
		endedAt time.Time
		reason  string
		want    api.TaskState
	}{
		"as it was asked to":             {at, "scaled down", api.TaskShutdown},
		"though nobody asked":            {time.Time{}, "", api.TaskFailed},
		"though nobody asked, and later": {at, rollout.Ended + "failed", api.TaskFailed},
	} {
		shut := placed
		shut.EndedAt, shut.Reason = tc.endedAt, tc.reason
		one := observed{tasks: []owner.Task{{Desired: records.Read[api.Task]{Value: &shut},
			Status: &api.TaskStatus{State: api.TaskShutdown}}}}
		if got := one.slots()[0].State; got != tc.want {
			t.Errorf("shut down %s: %s, want %s", name, got, tc.want)
		}
	}
	o.refusals["t"] = placement.Refusal{Task: "t", Message: "no room", Crowded: true}
	if got := o.slots()[0]; !got.Unplaceable || !got.Crowded || got.Reason != api.ReasonNoNode ||
		got.Message != "no room" {
		t.Errorf("refused: %+v", got)
	}
}
