package dependency

import "tend.dev/tend/api"

// State is the state of a workload for those that depend on it.
type State struct {
	// Ready is set if the workload exists and runs its newest spec; for a job, if its last run succeeded.
	Ready bool
	// Why names what is missing if it is not ready.
	Why string
}

// Waiting returns the dependencies that are not ready, in order, each with what is missing: "statefulset/prod/db (1 of
// 3 replicas ready)". The entries are those of depends_on.workloads of an object in scope; lookup returns the state of
// one workload. The result is empty if all are ready.
func Waiting(scope string, entries []string, lookup func(api.Ref) State) []string {
	var out []string
	for _, entry := range entries {
		ref, err := api.ParseDependency(entry, scope)
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		if state := lookup(ref); !state.Ready {
			out = append(out, ref.String()+" ("+state.Why+")")
		}
	}
	return out
}
