package volumes

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// Several says that the replicas of a spec write to one volume, or folder, at once; empty if they don't, or its labels
// say that several programs may.
func Several(spec api.DeploymentSpec, replicas int) string {
	if replicas < 2 {
		return ""
	}
	var places, sources []string
	for _, source := range Written(spec) {
		if !shares(spec.Labels, source) {
			places, sources = append(places, place(source)), append(sources, source)
		}
	}
	if len(places) == 0 {
		return ""
	}
	return fmt.Sprintf("volumes: %d replicas write to the %s at once, which breaks a database: declare a statefulset with "+
		"volume_claims; or say that several may: labels = { %q = %q }",
		replicas, strings.Join(places, " and the "), api.SharedVolumes, strings.Join(sources, ","))
}
