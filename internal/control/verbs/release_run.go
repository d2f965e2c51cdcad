package verbs

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/store/records"
)

var _ = Declare(verb.Verb{
	Name: "run-release", Summary: "Run the release command of what is in force again", Rule: access.Deployers("run"),
}, plainly((*Service).RunRelease))

// RunRelease requests another run of the release command of the release in force. It changes no slot, and its outcome
// affects nothing else. To retry a command that failed before its release came into force, restart the workload.
func (s *Service) RunRelease(ctx context.Context, target Target, actor string) (api.RunResult, error) {
	return s.requestRun(ctx, "release run", actor, func(snap records.Snapshot) (*Decision[api.RunResult], error) {
		return s.prepareReleaseRun(ctx, snap, target, actor)
	})
}

func (s *Service) prepareReleaseRun(
	ctx context.Context, snap records.Snapshot, target Target, actor string,
) (*Decision[api.RunResult], error) {
	object, err := target.findLive(snap)
	if err != nil {
		return nil, err
	}
	ref := object.Value.Ref()
	if !ref.Kind.HasSlots() {
		return nil, invalid(nameOne(api.Kind.HasSlots), "%s has no release command", ref)
	}
	if repeated := repeatedRun(ctx, snap, ref); repeated != nil {
		return repeated, nil
	}
	status := snap.WorkloadStatus(ref).Value
	if status == nil || status.Release == "" {
		return nil, invalid("wait until its first release is in force; `tend restart` tries a command that failed again",
			"%s has no release in force yet", ref)
	}
	release := snap.Release(ref, status.Release)
	if !release.Exists() || !hasCommand(*release.Value) {
		return nil, invalid("declare release.command and roll it out",
			"release %s of %s has no release command", status.Release, ref)
	}
	run := api.Run{
		ID: status.Release + "-" + runID(ctx, snap, ref), Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name,
		Trigger: api.TriggerManual, By: actor, Release: status.Release, CreatedAt: s.opts.Now().UTC(),
		State: api.RunPending,
	}
	key := records.RunKey(ref, run.ID)
	txn := records.NewTxn("release.run").If(records.ObjectKey(ref), object.Modified).
		If(records.ReleaseKey(ref, release.Value.ID), release.Modified).If(key, 0).Put(key, run)
	return &Decision[api.RunResult]{txn: txn, result: api.RunResult{Run: run}}, nil
}

// hasCommand reports whether a release declares release.command. A release made by a rollback runs no steps, but has
// its command.
func hasCommand(release api.Release) bool {
	spec, err := api.DecodeWorkload(release.Kind, release.Spec)
	return err == nil && spec.Release != nil && len(spec.Release.Command) > 0
}
