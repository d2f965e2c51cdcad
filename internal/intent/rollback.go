package intent

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
)

// Rollback writes the spec of an earlier release as a new generation, replicas and their owners untouched, and pins that
// release's image and environment by a stamp. Without a release it returns to the newest one before the current that was
// good.
func (s *Service) Rollback(ctx context.Context, target Target, release string, by Speaker) (api.VerbResult, error) {
	if err := by.check(); err != nil {
		return api.VerbResult{}, err
	}
	return s.verb(ctx, "rollback", by.Actor, func(snap layout.Snapshot) (*verbDecision, error) {
		return s.prepareRollback(snap, target, release, by)
	})
}

func (s *Service) prepareRollback(snap layout.Snapshot, target Target, wanted string, by Speaker) (*verbDecision, error) {
	object, err := target.findDeployment(snap, "rolled back")
	if err != nil {
		return nil, err
	}
	release, err := rollbackTarget(snap, object.Value.Ref(), wanted)
	if err != nil {
		return nil, err
	}
	decided := unchanged("rollback", object)
	decided.result.Release = release.ID
	next := *object.Value
	if next.Spec, err = specOfRelease(release.Spec, next.Spec); err != nil {
		return nil, err
	}
	if sameRelease(object.Value.Spec, next.Spec) && next.Metadata.Stamps[api.StampRollback] == release.ID {
		return decided, nil
	}
	next.Metadata.Stamps = maps.Clone(next.Metadata.Stamps)
	if next.Metadata.Stamps == nil {
		next.Metadata.Stamps = map[string]string{}
	}
	next.Metadata.Stamps[api.StampRollback] = release.ID
	return decided, s.amend(snap, decided, object, next, by, func(field string) bool { return !isReplicas(field) })
}

// specOfRelease is the release's spec with the replicas the object has now.
func specOfRelease(release, current json.RawMessage) (json.RawMessage, error) {
	fields, err := fieldsOf(current)
	if err != nil {
		return nil, err
	}
	return withField(release, "replicas", fields["replicas"])
}

// rollbackTarget is the named release, or the newest before the current one that was good and says something else.
func rollbackTarget(snap layout.Snapshot, ref api.Ref, wanted string) (*api.Release, error) {
	releases := snap.Releases(ref)
	if wanted != "" {
		for _, release := range releases {
			if release.Value.ID == wanted {
				return release.Value, nil
			}
		}
		return nil, notFound(keptReleases(releases), "%s has no release %s", ref, wanted)
	}
	if len(releases) == 0 {
		return nil, notFound("a release is kept once the first rollout began", "%s has no release yet", ref)
	}
	current := releases[len(releases)-1].Value
	if good := lastGood(snap, ref); good != nil && !sameSnapshot(good, current) {
		return good, nil
	}
	for i := len(releases) - 2; i >= 0; i-- {
		if earlier := releases[i].Value; !sameSnapshot(earlier, current) && !failed(snap, ref, earlier.ID) {
			return earlier, nil
		}
	}
	return nil, notFound(keptReleases(releases), "%s has no earlier release to return to", ref)
}

// lastGood is the newest release every slot ran and was good, if it is kept.
func lastGood(snap layout.Snapshot, ref api.Ref) *api.Release {
	status := snap.WorkloadStatus(ref)
	if !status.Exists() || status.Value.Rollout == nil {
		return nil
	}
	return snap.Release(ref, status.Value.Rollout.LastGoodRelease).Value
}

// failed says whether a release is the one an automatic rollback turned away from.
func failed(snap layout.Snapshot, ref api.Ref, id string) bool {
	status := snap.WorkloadStatus(ref)
	return status.Exists() && status.Value.Rollout != nil && status.Value.Rollout.Failed != nil &&
		status.Value.Rollout.Failed.Release == id
}

// sameSnapshot says whether two releases would run the same.
func sameSnapshot(a, b *api.Release) bool {
	return a.SpecHash == b.SpecHash && a.EnvHash == b.EnvHash && a.ImageID == b.ImageID
}

func keptReleases(releases []layout.Read[api.Release]) string {
	if len(releases) == 0 {
		return "no release is kept yet"
	}
	ids := make([]string, len(releases))
	for i, release := range releases {
		ids[i] = release.Value.ID
	}
	return "kept are " + strings.Join(ids, ", ")
}
