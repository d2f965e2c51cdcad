package asset

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
)

// Images returns the names (<scope>-<name>:<build>) of the built images something refers to: what objects are to be
// made from, what agents were asked for, and what releases were made with. Tasks refer to releases.
func Images(s layout.Snapshot) map[string]bool {
	used := map[string]bool{}
	for _, kind := range api.Kinds {
		if !kind.HasContainers() {
			continue
		}
		for object := range s.Objects(kind) {
			if spec, err := api.DecodeWorkload(kind, object.Value.Spec); err == nil {
				if image, build := object.Value.WantedImage(spec.Container); build != nil {
					used[image] = true
				}
			}
		}
	}
	for _, request := range s.ImageRequests() {
		if request.Value.Build != nil {
			used[request.Value.Image] = true
		}
	}
	for record := range s.Prefix(layout.ReleasesPrefix) {
		if release, ok := record.Value.(*api.Release); ok && release.Build != nil {
			used[release.Build.Image(release.Owner())] = true
		}
	}
	return used
}
