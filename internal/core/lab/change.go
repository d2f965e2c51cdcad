package lab

import (
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Unheeded returns a warning about changed fields of a manifest that no longer count in a phase, with the next step. It
// is empty if all of them count. fields are top-level names. For a lab that has ended it warns even without a change.
func Unheeded(phase api.LabPhase, fields []string) string {
	fields = slices.Compact(slices.Sorted(slices.Values(fields)))
	fields = slices.DeleteFunc(fields, func(field string) bool { return counts(phase, field) })
	switch {
	case len(fields) == 0 && phase.Ended(): // the user may expect it to run
		return fmt.Sprintf("it has ended (%s) and never runs again; to run another one, delete it and apply again", phase)
	case len(fields) == 0:
		return ""
	}
	return strings.Join(fields, ", ") + ": " + unheeded(phase, fields)
}

func unheeded(phase api.LabPhase, fields []string) string {
	started := len(fields) == 1 && fields[0] == "start"
	switch {
	case phase.Ended():
		return fmt.Sprintf("without effect, it has ended (%s); to run another one, delete it and apply again", phase)
	case started:
		return "without effect, it has begun; to begin at another time, delete it and apply again"
	case phase == api.LabProvisioning:
		return "its container is being made; counts only if that fails; to use it now, delete it and apply again"
	}
	return "without effect, it runs and keeps its container; to run it with this, delete it and apply again"
}

// counts reports whether changing a field still has an effect in a phase.
func counts(phase api.LabPhase, field string) bool {
	switch field {
	case "owner", "class": // they say whose it is
		return true
	case "duration", "host", "port": // its end and its route are made of what is declared now
		return !phase.Ended()
	}
	return phase == "" || phase == api.LabPending
}
