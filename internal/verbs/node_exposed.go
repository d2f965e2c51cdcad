package verbs

import (
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
)

// exposed returns what a node could read, sorted: the secrets to replace once it turned out to be hostile. They are those of
// the tasks that it had, of the registries that it pulled from, and of the hosts whose TLS it served.
func exposed(snap records.Snapshot, node string) []string {
	found := map[string]bool{}
	for _, task := range snap.TasksOn(node) {
		owner := task.Value.Owner()
		release := snap.Release(owner, task.Value.Release)
		if !release.Exists() {
			continue
		}
		if len(release.Value.Env) > 0 {
			found["the environment of "+owner.String()] = true
		}
		for object := range snap.Objects(api.KindRegistry) {
			spec, err := api.DecodeSpec[api.RegistrySpec](*object.Value)
			if err == nil && strings.HasPrefix(release.Value.Image, spec.Host()+"/") {
				found["the credentials of "+object.Value.Ref().String()] = true
			}
		}
	}
	if snap.ServesIngress(node) {
		for object := range snap.Objects(api.KindIngress) {
			if spec, err := api.DecodeSpec[api.IngressSpec](*object.Value); err == nil && spec.Secure() {
				found["the TLS key of "+strings.ToLower(spec.Host)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
