package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/store/records"
)

// RollbackOptions are the options of a rollback.
type RollbackOptions struct {
	// Release is the release to return to. Default: the newest good one that differs from the current one in what it
	// runs.
	Release string
	// WithConfig returns to the environment of the release too. Default: config stays as it is today.
	WithConfig bool
	// DryRun decides and answers, but stores nothing.
	DryRun bool
	FieldManager
}

// Rollback writes the spec of an earlier release as a new generation, leaves replicas and their owners untouched, and
// pins that release's image by a stamp. Config holds the values that people set for every release: a rollback leaves it
// alone, unless it is asked to return to the release's own.
func (s *Service) Rollback(ctx context.Context, target Target, opts RollbackOptions) (api.VerbResult, error) {
	if err := opts.check(); err != nil {
		return api.VerbResult{}, err
	}
	prepare := func(snap records.Snapshot) (*verbDecision, error) { return s.prepareRollback(ctx, snap, target, opts) }
	if !opts.DryRun {
		return s.verb(ctx, "rollback", opts.FieldManager, prepare)
	}
	decided, _, err := consider(ctx, s, func(snap records.Snapshot) (*verbDecision, error) {
		decided, err := prepare(snap)
		if err == nil && decided.next != nil && s.opts.Preview != nil {
			var plan []api.PlannedAction
			plan, err = s.opts.Preview(snap, []api.Object{*decided.next}, nil)
			decided.result.Plan = shownPlan(plan, RightsOf(ctx))
		}
		return decided, err
	})
	if err != nil {
		return api.VerbResult{}, err
	}
	decided.result.DryRun = true
	return decided.result, nil
}

// returns reports whether objects of a kind can return to an earlier release.
func returns(kind api.Kind) bool { return kind.HasSlots() || kind.HasVersions() }

func (s *Service) prepareRollback(
	ctx context.Context, snap records.Snapshot, target Target, opts RollbackOptions,
) (*verbDecision, error) {
	object, err := target.findLive(snap)
	switch {
	case err != nil:
		return nil, err
	case object.Value.Kind.HasVersions():
		return s.prepareReturn(ctx, snap, object, opts)
	case !object.Value.Kind.HasSlots():
		return nil, invalid(insteadOf(snap, *object.Value, "tend rollback %s", returns), "%s can't be rolled back", object.Value.Ref())
	}
	release, err := rollbackTarget(snap, object.Value.Ref(), opts.Release)
	if err != nil {
		return nil, err
	}
	decided := unchanged("rollback", object)
	decided.result.Release, decided.result.WithConfig = release.ID, opts.WithConfig
	if asked, unreleased := unreleasedImage(snap, object.Value.Ref()); unreleased && opts.Release == "" {
		decided.result.Unreleased = asked
	}
	next := *object.Value
	if next.Spec, err = specOfRelease(release.Spec, next.Spec); err != nil {
		return nil, err
	}
	config, err := s.configOfRollback(snap, next, release, opts, &decided.result)
	if err != nil {
		return nil, err
	}
	if sameRelease(object.Value.Spec, next.Spec) {
		if object.Value.Metadata.Stamps[api.StampRollback] == release.ID &&
			object.Value.Metadata.Stamps[api.StampRollbackConfig] == config {
			return decided, nil
		}
		if err := onlyConfig(snap, object.Value.Ref(), release, opts, decided.result.Config); err != nil {
			return nil, err
		}
	}
	if err := s.checkProgram(ctx, snap, *object.Value, next); err != nil {
		return nil, err
	}
	found := &faults{} // another may have the name of an alias since
	if checkAliases(snap, []api.Object{next}, nil, found); len(found.errors) > 0 {
		return nil, found.err(found.headline(next.Ref().String()))
	}
	next.Metadata.Stamps = with(with(next.Metadata.Stamps, api.StampRollback, release.ID), api.StampRollbackConfig,
		config)
	if opts.WithConfig {
		delete(next.Metadata.Stamps, api.StampQuietEnv) // it would keep the pods that run on another environment
	}
	next.Metadata.Change = &api.Change{Verb: "rollback", Actor: opts.Actor}
	if stampRollback(snap, &next, release); RightsOf(ctx).Trusted {
		s.give(snap, object.Value, &next)
	}
	return decided, s.amend(snap, decided, object, next, opts.FieldManager.of(ctx).returning(),
		func(field string) bool { return !isReplicas(field) })
}

// stampRollback stamps the returned spec as an apply of it would: it pins the release's own digests, but later changes
// count.
func stampRollback(snap records.Snapshot, next *api.Object, release *api.Release) {
	hooks := next.HookDigests()
	stamps, _ := stampsOf(*next, filesIn(snap, nil), func(key string) string {
		return cmp.Or(release.AssetDigests[key], hooks[key])
	})
	for _, name := range []string{api.StampAssets, api.StampHookAssets} {
		delete(next.Metadata.Stamps, name)
	}
	maps.Copy(next.Metadata.Stamps, stamps)
	if release.Confined { // no admin answers for it because one returns to it
		next.Metadata.Stamps[api.StampConfined] = "true"
	}
	delete(next.Metadata.Stamps, api.StampBuild)
	if release.Build != nil {
		next.Metadata.Stamps[api.StampBuild] = release.Build.Stamp()
	}
}

// specOfRelease returns the release's spec with the object's current replicas. The release and the returned spec
// contain the values of references at the release's creation, so a rollback works even if their targets no longer
// exist. Text in it that resembles a reference is not one.
func specOfRelease(release, current json.RawMessage) (json.RawMessage, error) {
	now, err := fieldsOf(current)
	if err != nil {
		return nil, err
	}
	fields, err := fieldsOf(release)
	if err != nil {
		return nil, err
	}
	for _, name := range api.ResolvedFields {
		if fields[name] == nil {
			continue
		}
		if fields[name], err = reference.EscapeValue(fields[name], api.SpaceRef); err != nil {
			return nil, err
		}
	}
	if fields["replicas"] = now["replicas"]; now["replicas"] == nil {
		delete(fields, "replicas")
	}
	return json.Marshal(fields)
}

// rollbackTarget returns the named release, or the newest good one that says something else than the current one. Where
// none is known to be good it is the newest earlier one that didn't fail.
func rollbackTarget(snap records.Snapshot, ref api.Ref, wanted string) (*api.Release, error) {
	releases := snap.Releases(ref)
	if wanted != "" {
		for _, release := range releases {
			if release.Value.ID == wanted || strconv.Itoa(release.Value.Number) == wanted {
				return release.Value, nil
			}
		}
		return nil, noSuchRelease(snap, ref, wanted)
	}
	if len(releases) == 0 {
		first := "a release is kept once the first rollout began"
		if ref.Kind.HasVersions() {
			first = "a release is kept once it is sent to the cluster"
		}
		return nil, notFound(first, "%s has no release yet", ref)
	}
	status := snap.ReleaseStatus(ref)
	if _, unreleased := unreleasedImage(snap, ref); unreleased {
		for _, release := range slices.Backward(releases) {
			if wasGood(status, release.Value.ID) { // also the one in force: only the manifest went on
				return release.Value, nil
			}
		}
	}
	current := inForce(status, releases)
	for _, good := range []bool{true, false} {
		for _, release := range slices.Backward(releases) {
			earlier := release.Value
			usable := good && wasGood(status, earlier.ID) ||
				!good && earlier.Number < current.Number && !failed(status, earlier.ID)
			if usable && !sameSnapshot(earlier, current) {
				return earlier, nil
			}
		}
	}
	for _, release := range slices.Backward(releases) {
		if earlier := release.Value; !sameSnapshot(earlier, current) {
			return nil, notFound("to run "+earlier.ID+" again all the same: "+rollbackCommand(ref, earlier),
				"%s has no good release to return to: %s failed, and %s is current", ref, earlier.ID, current.ID)
		}
	}
	if !ref.Kind.HasVersions() {
		return nil, notFound(changeManifest, "%s has no release to return to: there is only %s, which it runs already", ref,
			current.ID)
	}
	return nil, notFound("what has no release yet, because the cluster was not given it, is undone by name: "+
		rollbackCommand(ref, current), "%s has no release to return to but %s, which is current", ref, current.ID)
}

// unreleasedImage returns the image that the manifest asks for, and whether no release has it: it can't be had, or not
// yet.
func unreleasedImage(snap records.Snapshot, ref api.Ref) (string, bool) {
	asked := snap.ImageRequest(ref)
	if ref.Kind.HasVersions() || !asked.Exists() {
		return "", false
	}
	for _, release := range snap.Releases(ref) {
		if release.Value.Image == asked.Value.Image && release.Value.Build.Name() == asked.Value.Build.Name() {
			return "", false
		}
	}
	return asked.Value.Image, true
}

// inForce returns the release to roll back from: the newest, unless an automatic rollback turned away from it already.
func inForce(status *api.WorkloadStatus, releases []records.Read[api.Release]) *api.Release {
	newest := releases[len(releases)-1].Value
	if status == nil || status.Rollout == nil || status.Rollout.Failed == nil ||
		status.Rollout.Failed.Release != newest.ID {
		return newest
	}
	for _, release := range releases {
		if release.Value.ID == status.Rollout.TargetRelease {
			return release.Value
		}
	}
	return newest
}

// wasGood reports whether every slot was once healthy with a release.
func wasGood(status *api.WorkloadStatus, id string) bool {
	return status != nil && (status.Outcomes[id].Good || status.Rollout != nil && status.Rollout.LastGoodRelease == id)
}

// failed reports whether the rollout of a release failed and never succeeded.
func failed(status *api.WorkloadStatus, id string) bool {
	if status == nil || wasGood(status, id) {
		return false
	}
	_, ended := status.Outcomes[id]
	return ended || status.Rollout != nil && status.Rollout.Failed != nil && status.Rollout.Failed.Release == id
}

// sameSnapshot reports whether two releases would run the same containers.
func sameSnapshot(a, b *api.Release) bool {
	return a.Root() == b.Root() || a.SpecHash == b.SpecHash && a.EnvHash == b.EnvHash && a.ImageID == b.ImageID
}

// changeManifest is the next step where no release differs from the one in force.
const changeManifest = "change the manifest and apply it"

// noSuchRelease returns the error for a release that isn't kept, with those to which a rollback can return: not the one
// in force, unless the manifest says something else.
func noSuchRelease(snap records.Snapshot, ref api.Ref, wanted string) error {
	releases, current := snap.Releases(ref), ""
	if len(releases) == 0 {
		return notFound("there is no release yet: wait for the first rollout", "%s has no release %s", ref, wanted)
	}
	if _, unreleased := unreleasedImage(snap, ref); !unreleased && !ref.Kind.HasVersions() {
		runs, declared := inForce(snap.ReleaseStatus(ref), releases), snap.Object(ref).Value.Spec
		if spec, err := specOfRelease(runs.Spec, declared); err == nil && sameRelease(declared, spec) {
			current = runs.ID
		}
	}
	var ids []string
	for _, release := range releases {
		if release.Value.ID != current {
			ids = append(ids, release.Value.ID)
		}
	}
	if len(ids) == 0 {
		return notFound(changeManifest, "%s has no release %s: there is only %s, which it runs already", ref, wanted, current)
	}
	return notFound("releases that you can return to: "+strings.Join(ids, ", "), "%s has no release %s", ref, wanted)
}
