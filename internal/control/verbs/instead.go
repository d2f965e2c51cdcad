package verbs

import (
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// The commands that begin what isn't running: for a job, tend run does.
const (
	restartCommand = "tend restart %s"
	startCommand   = "tend start %s"
)

// insteadOf returns the next step for a verb that an object of the wrong kind was named to: the same command for the
// workload behind it, or the one that begins a run. Of any other object it returns the kinds that the verb is for. The
// command has a %s in the place of the object.
func insteadOf(snap records.Snapshot, object api.Object, command string, of func(api.Kind) bool) string {
	if object.Kind.HasRuns() && (command == restartCommand || command == startCommand) {
		return fmt.Sprintf("to begin a run of it: tend run %s/%s", object.Scope, object.Name)
	}
	if object.Kind != api.KindIngress {
		return nameOne(of)
	}
	spec, err := api.DecodeSpec[api.IngressSpec](object)
	if err != nil {
		return nameOne(of)
	}
	for _, kind := range api.KindsThat(api.Kind.HasSlots) {
		behind := api.Ref{Kind: kind, Scope: object.Scope, Name: spec.ServiceName(object.Name)}
		if snap.Object(behind).Exists() {
			return fmt.Sprintf("it leads to %s: "+command, behind, behind.Scope+"/"+behind.Name)
		}
	}
	return nameOne(of)
}
