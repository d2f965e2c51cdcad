package workload

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/core/spechash"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// scene is an observed state in the terms of the table below: two replicas of web:1 in release v1 unless it says
// otherwise.
type scene struct {
	spec     api.DeploymentSpec
	tasks    []owner.Task
	rollout  api.RolloutStatus
	image    *api.ImageStatus
	frozen   []string
	nodes    []api.NodeStatus
	refusals map[string]placement.Refusal
	stamps   map[string]string
	deleting bool
	unminted bool // no release yet
}

func (s scene) observed() observed {
	object := api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name,
		Metadata: api.Metadata{Generation: 1, Stamps: s.stamps}}
	if s.deleting {
		object.Metadata.DeletedAt = &epoch
	}
	o := observed{
		ref: web, object: records.Read[api.Object]{Value: &object, Modified: 7}, spec: workloadOf(s.spec),
		tasks: s.tasks, refusals: s.refusals,
		status: records.Read[api.WorkloadStatus]{Value: &api.WorkloadStatus{Rollout: &s.rollout}},
	}
	if !s.unminted {
		for i, image := range []string{"web:1", "web:2"} {
			release := &api.Release{
				ID: []string{"v1", "v2"}[i], Number: i + 1, Image: image, ImageID: "sha256:" + image[4:],
				SpecHash: spechash.Workload(workloadOf(replicas(2, image)), nil), HashVersion: spechash.Version,
				EnvHash: (&sealer{}).HMAC([]byte("null")),
			}
			o.releases = append(o.releases, records.Read[api.Release]{Value: release})
		}
	}
	if s.image != nil {
		o.images = append(o.images, records.Read[api.ImageStatus]{Value: s.image})
	}
	for _, slot := range s.frozen {
		o.frozen = append(o.frozen, records.Read[api.Frozen]{Value: &api.Frozen{Slot: slot}})
	}
	for _, node := range s.nodes {
		o.nodes = append(o.nodes, records.Read[api.NodeStatus]{Value: &node})
	}
	return o
}

// slot is a task that has run for a minute; edit sets what is different.
func slot(id, release string, edit func(*api.Task, *api.TaskStatus)) owner.Task {
	began := epoch.Add(-time.Minute)
	task := &api.Task{ID: "t-" + id, Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: id, Release: release,
		Node: "n1", Desired: api.DesiredRunning, CreatedAt: began}
	status := &api.TaskStatus{ID: task.ID, State: api.TaskRunning, Ready: true, StartedAt: began, RunningAt: began,
		ReadyAt: began}
	if edit != nil {
		edit(task, status)
	}
	if status.State == api.TaskPending {
		status = nil
	}
	return owner.Task{Desired: records.Read[api.Task]{Value: task}, Status: status}
}

func crashed(_ *api.Task, s *api.TaskStatus) {
	s.Ready, s.CrashLoop, s.Message, s.LastLog = false, true, "exit code 1, 3 times in a minute",
		[]string{"panic: no database"}
}

func rejected(_ *api.Task, s *api.TaskStatus) {
	s.State, s.Ready, s.RunningAt, s.ReadyAt = api.TaskRejected, false, time.Time{}, time.Time{}
	s.Reason, s.Message, s.FinishedAt = "PortTaken", "port 80 is already allocated", epoch
}

func unplaced(t *api.Task, s *api.TaskStatus) { t.Node, s.State = "", api.TaskPending }

func TestConditions(t *testing.T) {
	two := []owner.Task{slot("a", "v1", nil), slot("b", "v1", nil)}
	complete := api.RolloutStatus{Phase: api.RolloutComplete, TargetRelease: "v1", LastGoodRelease: "v1",
		StartedAt: epoch, EndedAt: epoch}
	toV2 := api.RolloutStatus{Phase: api.RolloutProgressing, TargetRelease: "v2", LastGoodRelease: "v1",
		StartedAt: epoch}
	present := func(image string) *api.ImageStatus {
		return &api.ImageStatus{Image: image, State: api.ImagePresent, ImageID: "sha256:" + image[4:]}
	}
	paused := replicas(2, "web:2")
	paused.Strategy = &api.Strategy{Pause: "1ms", Monitor: "1ms"}
	goesOn := func(n int) api.DeploymentSpec {
		s := replicas(n, "web:2")
		s.Strategy.OnFailure = api.OnFailureContinue
		return s
	}
	type line struct{ Status, Reason, Message string }
	for name, test := range map[string]struct {
		reason                       string
		scene                        scene
		ready, progressing, degraded line
		outcome                      api.OutcomeState
	}{
		"converged": {
			"all slots run the release",
			scene{spec: replicas(2, "web:1"), tasks: two, rollout: complete, image: present("web:1")},
			line{"True", "Converged", "2 of 2 replicas run v1"}, line{"False", "Complete", "2 of 2 pods run v1"},
			line{"False", "AsExpected", ""},
			api.OutcomeConverged,
		},
		"frozen": {
			"a slot that a person stopped is not missing",
			scene{
				spec: replicas(3, "web:1"), rollout: complete, image: present("web:1"), frozen: []string{"c"},
				tasks: append([]owner.Task{slot("c", "v1", func(t *api.Task, s *api.TaskStatus) {
					t.Desired, s.State, s.Ready = api.DesiredShutdown, api.TaskShutdown, false
				})}, two...),
			},
			line{"True", "Frozen", "2 of 2 replicas run v1; 1 stopped by a person (`tend start` brings them back)"},
			line{"False", "Complete", "2 of 2 pods run v1"}, line{"False", "AsExpected", ""},
			api.OutcomeConverged,
		},
		"no node yet": {
			"the image was requested and no node answered",
			scene{spec: replicas(2, "web:1"), unminted: true},
			line{"False", "ResolvingImage", "0 of 2 replicas ready"},
			line{"True", "ResolvingImage", "waiting for a node to look for image web:1"},
			line{"False", "AsExpected", ""},
			api.OutcomePending,
		},
		"pulling": {
			"the message says how far",
			scene{spec: replicas(2, "web:1"), unminted: true,
				image: &api.ImageStatus{Image: "web:1", State: api.ImagePulling, Progress: 37, Node: "n1"}},
			line{"False", "ResolvingImage", "0 of 2 replicas ready"},
			line{"True", "ResolvingImage", "pulling web:1 on node n1: 37%"}, line{"False", "AsExpected", ""},
			api.OutcomePending,
		},
		"pulling, size unknown": {
			"a percentage that isn't known isn't invented",
			scene{spec: replicas(2, "web:1"), unminted: true,
				image: &api.ImageStatus{Image: "web:1", State: api.ImagePulling, Progress: -1, Node: "n1"}},
			line{"False", "ResolvingImage", "0 of 2 replicas ready"},
			line{"True", "ResolvingImage", "pulling web:1 on node n1"}, line{"False", "AsExpected", ""},
			api.OutcomePending,
		},
		"no image": {
			"the runtime's own reason is passed on",
			scene{spec: replicas(2, "web:1"), unminted: true,
				image: &api.ImageStatus{Image: "web:1", State: api.ImageFailed, Reason: "ImageNotFound",
					Message: "manifest unknown"}},
			line{"False", "ImageNotFound", "0 of 2 replicas ready"},
			line{"False", "ImageNotFound", ""}, line{"True", "ImageNotFound", "manifest unknown"},
			api.OutcomeFailed,
		},
		"no image for the new spec": {
			"what runs goes on, and Ready says that it isn't what was asked for",
			scene{spec: replicas(2, "web:3"), tasks: two, rollout: complete,
				image: &api.ImageStatus{Image: "web:3", State: api.ImageFailed, Reason: "ImageNotFound",
					Message: "manifest unknown"}},
			line{"False", "ImageNotFound", "2 of 2 replicas ready on v1, and what was changed since has not begun"},
			line{"False", "ImageNotFound", ""}, line{"True", "ImageNotFound", "manifest unknown"},
			api.OutcomeFailed,
		},
		"another reference's failure": {
			"an answer to an older question says nothing",
			scene{spec: replicas(2, "web:1"), tasks: two, rollout: complete,
				image: &api.ImageStatus{Image: "web:0", State: api.ImageFailed, Reason: "ImageNotFound"}},
			line{"True", "Converged", "2 of 2 replicas run v1"}, line{"False", "Complete", "2 of 2 pods run v1"},
			line{"False", "AsExpected", ""},
			api.OutcomeConverged,
		},
		"progressing": {
			"a rollout is under way",
			scene{spec: replicas(2, "web:2"), tasks: two, rollout: toV2, image: present("web:2")},
			line{"False", "Progressing", "2 of 2 replicas ready, updating to v2"},
			line{"True", "Progressing", "0 of 2 pods run v2"}, line{"False", "AsExpected", ""},
			api.OutcomePending,
		},
		"one more than wanted": {
			"a pod beside the one it replaces is not one more replica, and is watched like the last one",
			scene{
				spec: replicas(2, "web:2"), rollout: toV2, image: present("web:2"),
				tasks: append(slices.Clone(two), slot("c", "v2", func(t *api.Task, s *api.TaskStatus) {
					t.Replaces = "a"
					s.StartedAt, s.RunningAt, s.ReadyAt = epoch, epoch, epoch
				})),
			},
			line{"False", "Progressing", "2 of 2 replicas ready, updating to v2"},
			line{"True", "Progressing", "1 of 2 pods run v2: 1 ready pod is watched for 1ms (strategy.monitor)"},
			line{"False", "AsExpected", ""},
			api.OutcomePending,
		},
		"engine away": {
			"the node's own words",
			scene{spec: replicas(2, "web:1"), tasks: two, rollout: complete, image: present("web:1"),
				nodes: []api.NodeStatus{{ID: "n1", Message: "connect /run/docker.sock: refused"}}},
			line{"False", "EngineUnavailable", "2 of 2 replicas ready, as last seen"},
			line{"True", "EngineUnavailable", ""}, line{"True", "EngineUnavailable",
				"node n1: connect /run/docker.sock: refused"},
			api.OutcomePending,
		},
		"one engine away": {
			"another node answers",
			scene{spec: replicas(2, "web:1"), tasks: two, rollout: complete, image: present("web:1"),
				nodes: []api.NodeStatus{{ID: "n1"}, {ID: "n2", Ready: true}}},
			line{"True", "Converged", "2 of 2 replicas run v1"}, line{"False", "Complete", "2 of 2 pods run v1"},
			line{"False", "AsExpected", ""},
			api.OutcomeConverged,
		},
		"crash loop": {
			"with the end of its output",
			scene{spec: replicas(2, "web:1"), tasks: []owner.Task{slot("a", "v1", nil), slot("b", "v1", crashed)},
				rollout: complete, image: present("web:1")},
			line{"False", "CrashLoop", "1 of 2 replicas ready"},
			line{"False", "Paused", "paused until the failed pod is ready, or the next apply"},
			line{"True", "CrashLoop", "exit code 1, 3 times in a minute\npanic: no database"},
			api.OutcomeHeld,
		},
		"paused by a person": {
			"only a person lets it go on: waiting doesn't help",
			scene{spec: replicas(2, "web:1"), rollout: complete, image: present("web:1"),
				tasks: []owner.Task{slot("a", "v1", nil), slot("b", "v1", func(_ *api.Task, s *api.TaskStatus) {
					s.Ready, s.UnreadyAt, s.Reason, s.Message = false, epoch, api.ReasonPaused, "paused by hand"
				})}},
			line{"False", "Paused", "1 of 2 replicas ready"},
			line{"False", "Paused", ""},
			line{"True", "Paused", "paused by hand"},
			api.OutcomeHeld,
		},
		"rejected": {
			"a slot that could not start holds the rollout",
			scene{spec: paused, rollout: toV2, image: present("web:2"),
				tasks: append([]owner.Task{slot("c", "v2", func(t *api.Task, s *api.TaskStatus) {
					t.Replaces = "a"
					rejected(t, s)
				})}, two...)},
			line{"False", "PortTaken", "2 of 2 replicas ready, and none of them runs v2"},
			line{"False", "Paused", "paused until the failed pod is ready, or the next apply"},
			line{"True", "PortTaken", "port 80 is already allocated"},
			api.OutcomeHeld,
		},
		"ended without a word": {
			"a slot that ended says at least how",
			scene{spec: paused, rollout: toV2, image: present("web:2"),
				tasks: append([]owner.Task{slot("c", "v2", func(t *api.Task, s *api.TaskStatus) {
					t.Replaces = "a"
					rejected(t, s)
					s.State, s.Reason, s.Message = api.TaskFailed, "", ""
				})}, two...)},
			line{"False", "SlotFailed", "2 of 2 replicas ready, and none of them runs v2"},
			line{"False", "Paused", "paused until the failed pod is ready, or the next apply"},
			line{"True", "SlotFailed", "it ended: failed"},
			api.OutcomeHeld,
		},
		"deadline": {
			"a slot that took too long",
			scene{spec: paused, rollout: toV2, image: present("web:2"),
				tasks: append([]owner.Task{slot("c", "v2", func(t *api.Task, s *api.TaskStatus) {
					t.Replaces, t.CreatedAt = "a", epoch.Add(-time.Hour)
					s.State, s.Ready, s.RunningAt, s.ReadyAt = api.TaskStarting, false, time.Time{}, time.Time{}
				})}, two...)},
			line{"False", "DeadlineExceeded", "2 of 2 replicas ready, and none of them runs v2"},
			line{"False", "Paused", "paused until the failed pod is ready, or the next apply"},
			line{"True", "DeadlineExceeded", "not ready within 5m0s (strategy.deadline)"},
			api.OutcomeHeld,
		},
		"continue": {
			"a rollout that goes on is degraded all the same",
			scene{spec: goesOn(2), rollout: toV2, image: present("web:2"),
				tasks: append([]owner.Task{slot("c", "v2", func(t *api.Task, s *api.TaskStatus) {
					t.Replaces = "a"
					crashed(t, s)
				})}, two...)},
			line{"False", "CrashLoop", "2 of 2 replicas ready, and none of them runs v2"},
			line{"True", "CrashLoop", ""},
			line{"True", "CrashLoop", "exit code 1, 3 times in a minute\npanic: no database"},
			api.OutcomePending,
		},
		"continue, another attempt": {
			"it is degraded until the attempt has proved itself",
			scene{spec: goesOn(1), rollout: toV2, image: present("web:2"), tasks: []owner.Task{
				slot("c", "v2", func(t *api.Task, s *api.TaskStatus) {
					t.CreatedAt = epoch.Add(-time.Minute)
					rejected(t, s)
					s.FinishedAt = epoch.Add(-time.Minute)
				}),
				slot("d", "v2", func(t *api.Task, s *api.TaskStatus) {
					t.Replaces, t.CreatedAt = "c", epoch
					s.StartedAt, s.RunningAt, s.ReadyAt = epoch, epoch, epoch
				}),
			}},
			line{"False", "PortTaken", "1 of 1 replicas ready, but not for long enough yet"},
			line{"True", "PortTaken", ""},
			line{"True", "PortTaken", "port 80 is already allocated"},
			api.OutcomePending,
		},
		"no node": {
			"the scheduler's words reach the user",
			scene{
				spec: replicas(2, "web:1"), rollout: toV1(), image: present("web:1"),
				tasks: []owner.Task{slot("a", "v1", nil), slot("b", "v1", unplaced)},
				refusals: map[string]placement.Refusal{"t-b": {Task: "t-b",
					Message: "node n1 lacks memory: 8Gi asked, 4Gi in all"}},
			},
			line{"False", "NoNode", "1 of 2 replicas ready"},
			line{"True", "NoNode", ""}, line{"True", "NoNode", "node n1 lacks memory: 8Gi asked, 4Gi in all"},
			api.OutcomePending,
		},
		"too large": {
			"the scheduler's words reach the user",
			scene{
				spec: replicas(2, "web:1"), rollout: toV1(), image: present("web:1"),
				tasks: []owner.Task{slot("a", "v1", nil), slot("b", "v1", unplaced)},
				refusals: map[string]placement.Refusal{"t-b": {Task: "t-b", TooLarge: true,
					Message: "node n1 lacks memory: 8Gi asked, 4Gi in all"}},
			},
			line{"False", "TooLarge", "1 of 2 replicas ready"},
			line{"False", "TooLarge", ""}, line{"True", "TooLarge", "node n1 lacks memory: 8Gi asked, 4Gi in all"},
			api.OutcomeHeld,
		},
		"no surge": {
			"no room beside the old slot is progress, and nothing is wrong",
			scene{
				spec: paused, rollout: toV2, image: present("web:2"),
				tasks: append([]owner.Task{slot("c", "v2", func(t *api.Task, s *api.TaskStatus) {
					t.Replaces = "a"
					unplaced(t, s)
				})}, two...),
				refusals: map[string]placement.Refusal{"t-c": {Task: "t-c", Crowded: true, Message: "port 80"}},
			},
			line{"False", "NoSurge", "2 of 2 replicas ready, updating to v2"},
			line{"True", "NoSurge", "a new pod does not fit beside the one it replaces, which stops first"},
			line{"False", "AsExpected", ""},
			api.OutcomePending,
		},
		"rolled back": {
			"all is well, and not what was asked for",
			scene{
				spec: replicas(2, "web:2"), tasks: two, image: present("web:2"),
				rollout: api.RolloutStatus{
					Phase: api.RolloutRolledBack, TargetRelease: "v1", LastGoodRelease: "v1", StartedAt: epoch,
					EndedAt: epoch,
					Failed: &api.FailedRollout{Release: "v2", Generation: 1, EnvHash: (&sealer{}).HMAC([]byte("null")),
						ImageID: "sha256:2", Message: "exit code 1"},
				},
			},
			line{"False", "RolledBack", "2 of 2 replicas ready, but on v1: v2, which the manifest asks for, failed"},
			line{"False", "Complete", "2 of 2 pods run v1"},
			line{"True", "RolledBack", "v2 failed, back on v1: exit code 1"},
			api.OutcomeHeld,
		},
		"rolled back, not yet good": {
			"what is ready has yet to show that it stays so: that is progress",
			scene{
				spec: replicas(2, "web:2"), image: present("web:2"),
				tasks: []owner.Task{slot("a", "v1", nil), slot("b", "v1", func(_ *api.Task, s *api.TaskStatus) {
					s.StartedAt, s.RunningAt, s.ReadyAt = epoch, epoch, epoch
				})},
				rollout: api.RolloutStatus{
					Phase: api.RolloutRollingBack, TargetRelease: "v1", LastGoodRelease: "v1", StartedAt: epoch,
					Failed: &api.FailedRollout{Release: "v2", Generation: 1, EnvHash: (&sealer{}).HMAC([]byte("null")),
						ImageID: "sha256:2", Message: "exit code 1"},
				},
			},
			line{"False", "RolledBack", "2 of 2 replicas ready, but on v1: v2, which the manifest asks for, failed"},
			line{"True", "Progressing", "2 of 2 pods run v1: 1 ready pod is watched for 1ms (strategy.monitor)"},
			line{"True", "RolledBack", "v2 failed, back on v1: exit code 1"},
			api.OutcomePending,
		},
		"rolled back to what isn't ready": {
			"nothing goes on until a pod changes its mind",
			scene{
				spec: replicas(2, "web:2"), image: present("web:2"),
				tasks: []owner.Task{slot("a", "v1", nil),
					slot("b", "v1", func(_ *api.Task, s *api.TaskStatus) { s.Ready = false })},
				rollout: api.RolloutStatus{
					Phase: api.RolloutRollingBack, TargetRelease: "v1", LastGoodRelease: "v1", StartedAt: epoch,
					Failed: &api.FailedRollout{Release: "v2", Generation: 1, EnvHash: (&sealer{}).HMAC([]byte("null")),
						ImageID: "sha256:2", Message: "exit code 1"},
				},
			},
			line{"False", "RolledBack", "1 of 2 replicas ready"},
			line{"False", "RolledBack", "back on v1, whose pods aren't ready either"},
			line{"True", "RolledBack", "v2 failed, back on v1: exit code 1"},
			api.OutcomeHeld,
		},
		"deleting": {
			"what goes says so",
			scene{spec: replicas(2, "web:1"), tasks: two, rollout: complete, deleting: true},
			line{"False", "Deleting", "2 of 2 replicas ready"},
			line{"True", "Deleting", "its pods are being stopped"}, line{"False", "AsExpected", ""},
			api.OutcomeFailed,
		},
		"still stopping": {
			"done is when the old containers have ended",
			scene{
				spec: replicas(2, "web:1"), rollout: complete, image: present("web:1"),
				tasks: append([]owner.Task{slot("c", "v1",
					func(t *api.Task, _ *api.TaskStatus) { t.Desired = api.DesiredShutdown })}, two...),
			},
			line{"True", "Converged", "2 of 2 replicas run v1"},
			line{"True", "Stopping", "2 of 2 pods run v1; 1 more still stopping"}, line{"False", "AsExpected", ""},
			api.OutcomePending,
		},
		"stopping on a lost node": {
			"nobody waits for a node that may never answer",
			scene{
				spec: replicas(2, "web:1"), rollout: complete, image: present("web:1"),
				tasks: append([]owner.Task{onLostNode(slot("c", "v1",
					func(t *api.Task, _ *api.TaskStatus) { t.Desired = api.DesiredShutdown }))}, two...),
			},
			line{"True", "Converged", "2 of 2 replicas run v1"},
			line{"False", "Complete", "2 of 2 pods run v1"}, line{"False", "AsExpected", ""},
			api.OutcomeConverged,
		},
		"scaled to zero": {
			"nothing is wanted and nothing runs",
			scene{spec: replicas(0, "web:1"), rollout: complete, image: present("web:1")},
			line{"True", "Converged", "0 of 0 replicas run v1"}, line{"False", "Complete", "0 of 0 pods run v1"},
			line{"False", "AsExpected", ""},
			api.OutcomeConverged,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			o := test.scene.observed()
			a, err := l.c.assess(o, epoch)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]line{}
			for _, c := range o.conditions(a) {
				got[c.Type] = line{string(c.Status), c.Reason, c.Message}
			}
			want := map[string]line{api.ConditionReady: test.ready, api.ConditionProgressing: test.progressing,
				api.ConditionDegraded: test.degraded}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s:\n%s", test.reason, diff)
			}
			controltest.Outcome(t, *o.object.Value, o.nextStatus(a, epoch), test.outcome)
		})
	}
}

func toV1() api.RolloutStatus {
	return api.RolloutStatus{Phase: api.RolloutProgressing, TargetRelease: "v1", StartedAt: epoch}
}

func onLostNode(t owner.Task) owner.Task {
	t.Absence.Lost = true
	return t
}
