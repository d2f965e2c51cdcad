package dependency

import "tend.dev/tend/api"

// State is how a workload is, for those that depend on it.
type State struct {
	// Ready: it is there, and what was declared last is what runs; of a job, that its last run succeeded.
	Ready bool
	// Why says what is missing where it is not ready.
	Why string
}

// Waiting lists which of the dependencies are not ready, in their order, each with what is missing: "statefulset/prod/db
// (1 of 3 replicas ready)". Entries are those of depends_on.workloads of an object in scope; lookup answers for one. It
// is empty when nothing is waited for.
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
