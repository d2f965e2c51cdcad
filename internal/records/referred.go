package records

import "tend.dev/tend/api"

// ReferredFiles returns the digests something refers to: the files of assets, what consumers were stamped with, the
// source they are built from, and what releases were made with, which are kept to return to.
func (s Snapshot) ReferredFiles() map[string]bool {
	used := map[string]bool{}
	add := func(digests map[string]string) {
		for _, digest := range digests {
			used[digest] = true
		}
	}
	for _, kind := range api.Kinds {
		for object := range s.Objects(kind) {
			add(object.Value.FileDigests())
			add(object.Value.AssetDigests())
			add(object.Value.HookDigests())
			if tree := object.Value.Tree(); tree != "" {
				used[tree] = true
			}
		}
	}
	for record := range s.Prefix(ReleasesPrefix) {
		if release, ok := record.Value.(*api.Release); ok {
			add(release.AssetDigests)
			if release.Build != nil {
				used[release.Build.Tree] = true
			}
		}
	}
	return used
}

// ReferredImages returns the names (<scope>-<name>:<build>) of the built images something refers to: what objects are to
// be made from, what agents were asked for, and what releases were made with. Tasks refer to releases.
func (s Snapshot) ReferredImages() map[string]bool {
	used := map[string]bool{}
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
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
	for record := range s.Prefix(ReleasesPrefix) {
		if release, ok := record.Value.(*api.Release); ok && release.Build != nil {
			used[release.Build.Image(release.Owner())] = true
		}
	}
	return used
}
