package outcome

import "tend.dev/tend/api"

// giveUpDependents ends the waits for objects that depend on one that is in trouble: they can't continue until a user
// fixes it. An object that depends on one with a missing reference counts as lacking it too.
func giveUpDependents(all []judged) {
	at := make(map[api.Ref]*judged, len(all))
	for i := range all {
		at[all[i].Ref] = &all[i]
	}
	for changed := true; changed; {
		changed = false
		for i := range all {
			s := &all[i]
			for _, need := range s.needs {
				on := at[need]
				switch {
				case on == nil || s.State != api.OutcomePending:
				case on.State == api.OutcomeFailed || on.State == api.OutcomeHeld:
					s.State, changed = on.State, true
				case on.stopped:
					s.State, changed = api.OutcomeHeld, true
				case on.State == api.OutcomePending && on.lacks && !s.lacks:
					s.lacks, changed = true, true
				}
			}
		}
	}
}
