package cli

import "tend.dev/tend/api"

// waitsForOthers is the reason of a release that waits until what it depends on is ready.
const waitsForOthers = "WaitingForDependency"

// giveUpDependents ends the waits for objects that depend on one that is in trouble: they can't continue until a user
// fixes it. An object that depends on one with a missing reference counts as lacking it too.
func giveUpDependents(looks []seen) {
	at := make(map[api.Ref]*seen, len(looks))
	for i := range looks {
		at[looks[i].ref] = &looks[i]
	}
	for changed := true; changed; {
		changed = false
		for i := range looks {
			s := &looks[i]
			for _, need := range s.needs {
				on := at[need]
				switch {
				case on == nil || s.outcome != pending:
				case on.outcome == failed || on.outcome == held:
					s.outcome, changed = on.outcome, true
				case on.stopped:
					s.outcome, changed = held, true
				case on.outcome == pending && on.lacks && !s.lacks:
					s.lacks, changed = true, true
				}
			}
		}
	}
}

// needs returns what an object waits for by depends_on; nothing unless it waits for that.
func needs(object api.Object, progressing api.Condition) []api.Ref {
	if progressing.Reason != waitsForOthers {
		return nil
	}
	return api.Dependencies(object)
}
