package verbs

import (
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// configOfRollback returns the value of api.StampRollbackConfig, and adds to the result which values changed since the
// release. next has the spec that is returned to.
func (s *Service) configOfRollback(
	snap records.Snapshot, next api.Object, release *api.Release, opts RollbackOptions, result *api.VerbResult,
) (string, error) {
	if s.opts.ConfigSince == nil {
		if opts.WithConfig {
			return "", invalid("leave it out", "this server doesn't compare environments, so config can't be returned to")
		}
		return api.RollbackKeepsConfig, nil
	}
	since, now, err := s.opts.ConfigSince(snap, next, *release)
	result.Config = since
	switch {
	case opts.WithConfig && now == "":
		return "", invalid("set the keys: tend config set", "the environment of %s can't be decrypted", release.ID)
	case opts.WithConfig:
		return now, nil // also where that of now can't be built: it isn't needed
	case err != nil:
		return "", invalid("set what is missing, or return to its config too: "+
			rollbackCommand(next.Ref(), release)+" --with-config",
			"%s can't run with the config of today: %v", release.ID, err)
	}
	return api.RollbackKeepsConfig, nil
}

// onlyConfig refuses a rollback that would do nothing because the release differs from the current one in config alone.
func onlyConfig(
	snap records.Snapshot, ref api.Ref, release *api.Release, opts RollbackOptions, since api.ConfigDifferences,
) error {
	current := inForce(snap.WorkloadStatus(ref).Value, snap.Releases(ref))
	if opts.WithConfig || len(since) == 0 || current.SpecHash != release.SpecHash ||
		current.ImageID != release.ImageID {
		return nil
	}
	return invalid(fmt.Sprintf("to return to its config: %s --with-config; or set the keys: tend config set %s/%s KEY=-",
		rollbackCommand(ref, release), ref.Scope, ref.Name),
		"%s differs from %s, which is current, in config alone, and a rollback leaves that as it is (since then: %s)",
		release.ID, current.ID, since)
}

// rollbackCommand returns the command that returns to a release. Without a kind it would mean a workload of the name.
func rollbackCommand(ref api.Ref, release *api.Release) string {
	kind := ""
	if ref.Kind.HasVersions() {
		kind = string(ref.Kind) + " "
	}
	return fmt.Sprintf("tend rollback %s%s/%s %s", kind, ref.Scope, ref.Name, release.ID)
}

// unpin ends what a rollback pinned: something new is asked for.
func unpin(stamps map[string]string) {
	delete(stamps, api.StampRollback)
	delete(stamps, api.StampRollbackConfig)
}
