package workload

import (
	"cmp"
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/records"
)

// keptAsked is the number of ended runs of release commands, requested by hand, that are kept.
const keptAsked = 5

// collect chooses the releases to delete: those beyond keep_releases, once the containers of their commands are gone.
// Runs that were requested by hand are deleted earlier if there are many.
func (o observed) collect(a assessment) assessment {
	surplus, asked := o.surplusReleases(a), o.surplusAsked()
	a.runs = o.sweep(a.runs, func(task api.Task) bool {
		_, many := asked[task.Run]
		return many || slices.Contains(surplus, task.Release) || o.release(task.Release) == nil
	})
	left := func(is func(api.Task) bool) bool {
		return slices.ContainsFunc(o.runTasks, func(t owner.Task) bool { return is(*t.Desired.Value) })
	}
	for _, id := range surplus {
		if !left(func(task api.Task) bool { return task.Release == id }) {
			a.gone = append(a.gone, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(asked)) {
		goes := slices.Contains(a.gone, asked[id].Value.Release) // its runs go with it
		if !goes && !left(func(task api.Task) bool { return task.Run == id }) {
			a.runs.drop = append(a.runs.drop, asked[id])
		}
	}
	return a
}

// surplusAsked returns the ended runs that were requested by hand, except the newest few.
func (o observed) surplusAsked() map[string]records.Read[api.Run] {
	var ended []records.Read[api.Run]
	for _, run := range o.runs {
		if run.Value.Trigger == api.TriggerManual && run.Value.State.Ended() {
			ended = append(ended, run)
		}
	}
	slices.SortFunc(ended, func(a, b records.Read[api.Run]) int {
		return cmp.Or(b.Value.FinishedAt.Compare(a.Value.FinishedAt), cmp.Compare(b.Value.ID, a.Value.ID))
	})
	out := map[string]records.Read[api.Run]{}
	for _, run := range ended[min(keptAsked, len(ended)):] {
		out[run.Value.ID] = run
	}
	return out
}

// dropReleases deletes releases with the records of their runs.
func (s *writes) dropReleases(ids []string) {
	for _, id := range ids {
		s.txn.Delete(records.ReleaseKey(s.o.ref, id))
		for _, run := range s.o.runs {
			if run.Value.Release == id {
				s.txn.Delete(records.RunKey(s.o.ref, run.Value.ID))
			}
		}
	}
}

// surplusReleases returns the releases older than the newest keep_releases, oldest first. It leaves out releases that a
// task, the rollout or a rollback refers to. Those take no newer release's place.
func (o observed) surplusReleases(a assessment) []string {
	surplus := len(o.releases) - o.spec.KeepReleaseCount()
	if a.target.mint {
		surplus++
	}
	if surplus <= 0 || o.deleting() {
		return nil
	}
	used := o.usedReleases(a)
	var out []string
	for _, r := range o.releases[:min(surplus, len(o.releases))] {
		if !used[r.Value.ID] {
			out = append(out, r.Value.ID)
		}
	}
	return out
}

func (o observed) usedReleases(a assessment) map[string]bool {
	used := map[string]bool{o.stamp(api.StampRollback): true, o.rollout().LastGoodRelease: true,
		o.rollout().TargetRelease: true}
	if a.target.release != nil {
		used[a.target.release.ID] = true
	}
	if a.target.pending != nil {
		used[a.target.pending.release.ID] = true
	}
	for _, run := range o.runs {
		used[run.Value.Release] = used[run.Value.Release] || !run.Value.State.Ended()
	}
	for _, t := range o.tasks {
		used[t.Desired.Value.Release] = true
	}
	for _, t := range o.leftovers {
		used[t.Value.Release] = true
	}
	return used
}
