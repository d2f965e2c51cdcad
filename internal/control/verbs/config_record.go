package verbs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/store/records"
)

// updateConsumers writes every workload whose environment changes with a bucket. A loud change removes the mark of
// earlier quiet ones: its restart applies their values too. A quiet change records the hash of the new environment, so
// that this environment doesn't replace the running pods. A workload that already runs on another environment is about
// to be replaced, so there a quiet change has nothing to preserve and is applied too.
func (s *Service) updateConsumers(d *configDecision, snap records.Snapshot, change env.Change, by ConfigChange) {
	for _, kind := range api.KindsThat(api.Kind.HasSlots) {
		for object := range snap.Objects(kind) {
			if object.Value.Metadata.Deleting() || !env.ReadBy(*object.Value, change.Bucket) {
				continue
			}
			if !unseen(object.Value.Ref(), by.rights) {
				d.overruled(*object.Value, change)
			}
			before, after := s.envHash(snap, *object.Value, env.Change{}), s.envHash(snap, *object.Value, change)
			if before != after || before == "" {
				s.record(d, snap, object, before, after, by)
			}
		}
	}
}

// overruled warns of keys that a reader's manifest, or Tend, sets itself: that value wins, so the change reaches no
// container of it.
func (d *configDecision) overruled(object api.Object, change env.Change) {
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return // apply has refused it; a version to come may write what this one can't read
	}
	for _, key := range slices.Sorted(maps.Keys(change.Set)) {
		if api.IsIdentity(object.Kind, key) && !api.IsIdentity("", key) {
			d.result.Warnings = append(d.result.Warnings,
				fmt.Sprintf("%s is overruled: Tend sets it in the pods of %s, to say who they are", key, object.Ref()))
		}
		if value, set := spec.Env[key]; set && !strings.Contains(value, "${config.") {
			d.result.Warnings = append(d.result.Warnings,
				fmt.Sprintf("%s is in env of the manifest of %s, whose value wins: take it out there", key,
					object.Ref()))
		}
	}
}

func (s *Service) record(
	d *configDecision, snap records.Snapshot, object records.Read[api.Object], before, after string, by ConfigChange,
) {
	next := *object.Value
	next.Metadata.Revision, next.Metadata.UpdatedAt = 0, s.opts.Now()
	next.Metadata.Change = &api.Change{Verb: "config", Actor: by.Actor}
	next.Metadata.Stamps = maps.Clone(next.Metadata.Stamps)
	delete(next.Metadata.Stamps, api.StampQuietEnv)
	switch {
	case by.Quiet && after != "" && runsOn(snap, *object.Value, before):
		if next.Metadata.Stamps == nil {
			next.Metadata.Stamps = map[string]string{}
		}
		next.Metadata.Stamps[api.StampQuietEnv] = after
		// A release made meanwhile may carry another environment: then the verb decides again.
		d.txn.If(records.ReleaseKey(next.Ref(), nextRelease(snap, next.Ref())), 0)
	case next.Metadata.Stamps[api.StampRollbackConfig] != "": // what a rollback brought back gives way to what is set now
		next.Metadata.Stamps[api.StampRollbackConfig] = api.RollbackKeepsConfig
	}
	key := records.ObjectKey(next.Ref())
	d.txn.If(key, object.Modified).Put(key, next)
	d.result.Affected = append(d.result.Affected, next.Ref())
}

// envHash returns the hash of an object's environment. It is empty if there is none, or if it can't be computed.
func (s *Service) envHash(snap records.Snapshot, object api.Object, change env.Change) string {
	if s.opts.EnvHash == nil {
		return ""
	}
	hash, err := s.opts.EnvHash(snap, object, change)
	if err != nil {
		return ""
	}
	return hash
}

// runsOn reports whether the newest release was made for an environment, or a quiet change keeps it from that
// environment.
func runsOn(snap records.Snapshot, object api.Object, hash string) bool {
	releases := snap.Releases(object.Ref())
	if len(releases) == 0 || hash == "" {
		return false
	}
	newest := releases[len(releases)-1].Value
	return newest.EnvHash == hash || newest.EnvOver == hash || object.Metadata.Stamps[api.StampQuietEnv] == hash
}

// nextRelease returns the id that the next release will have.
func nextRelease(snap records.Snapshot, ref api.Ref) string {
	number := 0
	if releases := snap.Releases(ref); len(releases) > 0 {
		number = releases[len(releases)-1].Value.Number
	}
	if status := snap.WorkloadStatus(ref); status.Exists() {
		number = max(number, status.Value.LastReleaseNumber)
	}
	return fmt.Sprintf("v%d", number+1)
}
