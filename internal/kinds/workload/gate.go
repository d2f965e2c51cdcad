package workload

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dependency"
	"tend.dev/tend/internal/core/gate"
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
			if id.imageID == "" {
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
	steps := release.Steps
	if steps == nil {
		return gate.Decision{State: gate.Open}
	}
	return gate.Decide(gate.Input{
		Release: release.ID, Commands: o.commands(release, steps.Before), Busy: o.busy(release.ID),
		Waiting: dependency.Waiting(o.ref.Scope, steps.DependsOn, o.dependency),
	})
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
