package workload

import (
	"fmt"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dependency"
	"tend.dev/tend/internal/core/gate"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/store/records"
)

// pending is a release that the spec asks for and that may not touch a slot yet, with what blocks it.
type pending struct {
	release *api.Release
	gate    gate.Decision
}

// admit decides whether a release that is not in force may become it: at once if its gate is open, else the release in
// force stays. The gate reports a failure until the user changes something; then the next attempt is a release of its
// own, so that pods of a failed attempt are not mixed up with those that run.
func (c *workloads) admit(o observed, id identity, release *api.Release, mint bool) (target, error) {
	decision := o.gateOf(release)
	if decision.State == gate.Failed {
		again, err := o.triesAgain(release)
		if err != nil {
			return target{}, err
		}
		if again {
			if id = o.withKeptImage(id); id.imageID == "" {
				return o.unknown(), nil
			}
			if release, err = c.mint(o, id); err != nil {
				return target{}, err
			}
			release.Reason, mint = "another try after "+decision.Run.ID+" failed", true
			decision = o.gateOf(release)
		}
	}
	if decision.State == gate.Open {
		return target{release: release, mint: mint}, nil
	}
	return target{
		release: o.release(o.rollout().TargetRelease), mint: mint, superseded: true,
		pending: &pending{release: release, gate: decision},
	}, nil
}

// minted returns the release that is new and must be written; nil if there is none.
func (t target) minted() *api.Release {
	switch {
	case !t.mint:
		return nil
	case t.pending != nil:
		return t.pending.release
	}
	return t.release
}

// triesAgain reports whether the user changed something since a release's command failed: the spec other than its
// replicas, or what `tend restart` counts. (Another environment or image is another release anyway.)
func (o observed) triesAgain(release *api.Release) (bool, error) {
	spec, err := snapshotSpec(o.spec)
	return string(spec) != string(release.Spec) || release.Restart != o.asked(), err
}

// asked identifies a request for another attempt: restarts of the slots, and of a failed release alone.
func (o observed) asked() string {
	if retry := o.stamp(api.StampRetry); retry != "" {
		return o.stamp(api.StampRestart) + "/" + retry
	}
	return o.stamp(api.StampRestart)
}

// gateOf decides whether a release may touch slots.
func (o observed) gateOf(release *api.Release) gate.Decision {
	in := gate.Input{Release: release.ID}
	in.Waiting, in.Next = o.waitsFor(release)
	if steps := release.Steps; steps != nil {
		in.Commands, in.Busy = o.commands(release, steps.Before), o.busy(release.ID)
	}
	return gate.Decide(in)
}

// waitsFor lists what must be ready, or gone, before a release may touch slots: the workloads that it depends on, and
// the objects that are being deleted and write to a volume of its pods. next is the step that helps if one of those
// waits for a node.
func (o observed) waitsFor(release *api.Release) (out []string, next string) {
	if release.Steps != nil {
		out = dependency.Waiting(o.ref.Scope, release.Steps.DependsOn, o.dependency)
	}
	for _, w := range o.leaving(o.ref.Scope, volumes.UseBy(o.ref, release.Spec)) {
		out = append(out, w.text)
		if w.silent != "" {
			next = startTend(w.silent) + "; if the machine is off: tend nodes confirm-down " + w.silent
		}
	}
	return out, next
}

// writer is an object that is being deleted and may still write to a volume.
type writer struct {
	// text names the object and the volume.
	text string
	// silent is a node that has a pod of the object and does not answer; empty if there is none.
	silent string
}

// leavingWriters returns a function that lists the objects which are being deleted and write to what a use writes to,
// with the volume. Their pods may run for a while, and two writers break a database. A volume, and a folder, is its
// node's: an object whose pods are all on nodes where those of the use can't come, by mayRunOn, is in nobody's way.
func leavingWriters(s records.Snapshot, mayRunOn func(node string) bool) func(scope string, use volumes.Use) []writer {
	return func(scope string, use volumes.Use) (out []writer) {
		if len(use.Alone()) == 0 {
			return nil
		}
		for _, kind := range api.KindsThat(api.Kind.HasContainers) {
			for object := range s.Objects(kind) {
				if !object.Value.Metadata.Deleting() {
					continue
				}
				at, tasks := use.Both(volumes.UseBy(object.Value.Ref(), object.Value.Spec)), s.TasksOf(object.Value.Ref())
				if at != "" && (onSharedStorage(*object.Value) || meets(tasks, mayRunOn)) {
					name := object.Value.Ref().String()
					if object.Value.Scope != scope {
						name = "an object of another scope"
					}
					out = append(out, writer{fmt.Sprintf("%s (it is being deleted, and writes to %s)", name, at),
						silentNode(s, tasks)})
				}
			}
		}
		return out
	}
}

// onSharedStorage reports whether the volumes of an object are the same on every node.
func onSharedStorage(object api.Object) bool {
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	return err == nil && spec.Placement != nil && spec.Placement.SharedStorage
}

// meets reports whether one of the tasks is, or may come to be, on such a node; also if there is none: a server may not
// have seen them yet.
func meets(tasks []records.Read[api.Task], on func(node string) bool) bool {
	return len(tasks) == 0 || slices.ContainsFunc(tasks, func(task records.Read[api.Task]) bool {
		return task.Value.Node == "" || on(task.Value.Node)
	})
}

// silentNode returns the node of one of the tasks that does not answer; empty if there is none.
func silentNode(s records.Snapshot, tasks []records.Read[api.Task]) string {
	for _, task := range tasks {
		if node := task.Value.Node; node != "" && !s.Alive(node) {
			return node
		}
	}
	return ""
}

// afterwards decides about the commands that run once the rollout is complete.
func (o observed) afterwards(t target, phase api.RolloutPhase) gate.Decision {
	if t.release == nil || t.release.Steps == nil || t.pending != nil || t.turned != nil || t.awaits ||
		phase != api.RolloutComplete {
		return gate.Decision{State: gate.Open}
	}
	return gate.Decide(gate.Input{
		Release: t.release.ID, Commands: o.commands(t.release, t.release.Steps.After), Busy: o.busy(t.release.ID),
		Lenient: true,
	})
}

func (o observed) commands(release *api.Release, roles []api.TaskRole) []gate.Command {
	out := make([]gate.Command, len(roles))
	for i, role := range roles {
		out[i] = gate.Command{Role: role, Run: o.run(runID(release.ID, role))}
		if out[i].Run == nil && o.object.Value.RestoredRelease().Covers(*release) {
			out[i].Run = unknownRun(o.ref, runID(release.ID, role))
		}
	}
	return out
}

// unknownRun stands for a command that may have run after the backup that the store was restored from: it doesn't run
// again by itself.
func unknownRun(ref api.Ref, id string) *api.Run {
	return &api.Run{
		ID: id, Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Trigger: api.TriggerRelease, State: api.RunFailed,
		Reason:  api.ReasonRestored,
		Message: "unknown: restored from a backup; it may have run since. Next: tend restart " + ref.String(),
	}
}

// busy returns a run that has not ended and isn't one of the release's own steps.
func (o observed) busy(release string) *api.Run {
	for _, run := range o.runs {
		if !run.Value.State.Ended() && (run.Value.Release != release || run.Value.Trigger != api.TriggerRelease) {
			return run.Value
		}
	}
	return nil
}

func (o observed) run(id string) *api.Run {
	for _, run := range o.runs {
		if run.Value.ID == id {
			return run.Value
		}
	}
	return nil
}

// runID returns the id of the run of one command of a release: v3-command.
func runID(release string, role api.TaskRole) string { return release + "-" + string(role) }

// gateMessage names what blocks a release, and what keeps it blocked.
func (o observed) gateMessage(p pending) string {
	message := p.gate.Message
	if p.gate.Run != nil {
		if refusal, refused := o.refusals[o.taskOf(*p.gate.Run)]; refused {
			message += ": " + refusal.Message
		}
	}
	return message
}

func (o observed) taskOf(run api.Run) string {
	if task := o.runTask(run).Desired; task.Exists() {
		return task.Value.ID
	}
	return ""
}

// releaseTimeout returns how long a command of a release may take.
func (o observed) releaseTimeout(id string) time.Duration {
	if release := o.release(id); release != nil && release.Steps != nil {
		return release.Steps.Timeout.Or(api.DefaultReleaseTimeout)
	}
	return api.DefaultReleaseTimeout
}
