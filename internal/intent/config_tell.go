package intent

import (
	"fmt"
	"maps"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/layout"
)

// tellConsumers writes every workload whose environment a change of a bucket changes. A loud change takes the mark of
// earlier quiet ones away: what they left undone is done with it. A quiet one leaves the hash of the environment as it will
// be: it is no reason to replace what runs. What runs on another environment already is about to be replaced, so there a
// quiet change has nothing to keep and joins in.
func (s *Service) tellConsumers(d *configDecision, snap layout.Snapshot, change env.Change, by ConfigChange) {
	for _, kind := range api.Kinds {
		if !kind.HasSlots() {
			continue
		}
		for object := range snap.Objects(kind) {
			if object.Value.Metadata.Deleting() || !env.ReadBy(*object.Value, change.Bucket) {
				continue
			}
			before, after := s.envHash(snap, *object.Value, env.Change{}), s.envHash(snap, *object.Value, change)
			if before != after || before == "" {
				s.tell(d, snap, object, before, after, by)
			}
		}
	}
}

func (s *Service) tell(d *configDecision, snap layout.Snapshot, object layout.Read[api.Object], before, after string, by ConfigChange) {
	next := *object.Value
	next.Metadata.Revision, next.Metadata.UpdatedAt = 0, s.opts.Now()
	next.Metadata.Change = &api.Change{Verb: "config", Actor: by.Actor}
	next.Metadata.Stamps = maps.Clone(next.Metadata.Stamps)
	delete(next.Metadata.Stamps, api.StampQuietEnv)
	if by.Quiet && after != "" && runsOn(snap, *object.Value, before) {
		if next.Metadata.Stamps == nil {
			next.Metadata.Stamps = map[string]string{}
		}
		next.Metadata.Stamps[api.StampQuietEnv] = after
		// A release made meanwhile may carry another environment: then it is decided anew.
		d.txn.If(layout.ReleaseKey(next.Ref(), nextRelease(snap, next.Ref())), 0)
	}
	key := layout.ObjectKey(next.Ref())
	d.txn.If(key, object.Modified).Put(key, next)
	d.result.Affected = append(d.result.Affected, next.Ref())
}

// envHash is empty where an object has no environment, or nobody can tell.
func (s *Service) envHash(snap layout.Snapshot, object api.Object, change env.Change) string {
	if s.opts.EnvHash == nil {
		return ""
	}
	hash, err := s.opts.EnvHash(snap, object, change)
	if err != nil {
		return ""
	}
	return hash
}

// runsOn says whether the newest release was made for an environment, or keeps it away quietly.
func runsOn(snap layout.Snapshot, object api.Object, hash string) bool {
	releases := snap.Releases(object.Ref())
	if len(releases) == 0 || hash == "" {
		return false
	}
	newest := releases[len(releases)-1].Value
	return newest.EnvHash == hash || newest.EnvOver == hash || object.Metadata.Stamps[api.StampQuietEnv] == hash
}

// nextRelease is the id that the next release will have.
func nextRelease(snap layout.Snapshot, ref api.Ref) string {
	number := 0
	if releases := snap.Releases(ref); len(releases) > 0 {
		number = releases[len(releases)-1].Value.Number
	}
	if status := snap.WorkloadStatus(ref); status.Exists() {
		number = max(number, status.Value.LastReleaseNumber)
	}
	return fmt.Sprintf("v%d", number+1)
}
