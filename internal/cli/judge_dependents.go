package cli

import "tend.dev/tend/api"

// waitsForOthers is the reason of a release that waits until what it depends on is ready.
const waitsForOthers = "WaitingForDependency"

// giveUpDependents ends the waits for what waits for another one of them that is in trouble: it waits in vain until a
// person has mended that. What waits for one that lacks something lacks it too.
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

// needs are what an object waits for by depends_on; nothing unless it waits for that.
func needs(object api.Object, progressing api.Condition) []api.Ref {
	if progressing.Reason != waitsForOthers {
		return nil
	}
	return api.Dependencies(object)
}
