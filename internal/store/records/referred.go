package records

import (
	"strings"

	"tend.dev/tend/api"
)

// ReferredFiles returns the digests of files in use: those of assets, those stamped on objects, source trees, and those
// of releases, which are kept for rollbacks.
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

// ReferredImages returns the references to images: the names (<scope>-<name>:<build>) of built ones, and the
// references, ids and registry digests of others. Objects, and their init containers, refer to the images that they are
// made from; requests to agents and releases refer to theirs. Tasks refer to releases.
func (s Snapshot) ReferredImages() map[string]bool {
	used := map[string]bool{}
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
		for object := range s.Objects(kind) {
			if spec, err := api.DecodeWorkload(kind, object.Value.Spec); err == nil {
				image, _ := object.Value.WantedImage(spec.Container)
				used[image] = true
				addInits(used, spec.Inits)
			}
		}
	}
	for _, request := range s.ImageRequests() {
		used[request.Value.Image] = true
	}
	for record := range s.Prefix(ReleasesPrefix) {
		if release, ok := record.Value.(*api.Release); ok {
			addRelease(used, release)
		}
	}
	delete(used, "")
	return used
}

func addRelease(used map[string]bool, release *api.Release) {
	if release.Build != nil {
		used[release.Build.Image(release.Owner())] = true
	}
	digest := release.ImageDigest[strings.LastIndex(release.ImageDigest, "@")+1:]
	used[release.Image], used[release.ImageID], used[digest] = true, true, true
	if spec, err := api.DecodeWorkload(release.Kind, release.Spec); err == nil {
		addInits(used, spec.Inits)
	}
}

func addInits(used map[string]bool, inits []api.Init) {
	for _, init := range inits {
		used[init.Image] = true
	}
}

// ObjectUIDs returns the uids of the objects that have containers.
func (s Snapshot) ObjectUIDs() map[string]bool {
	uids := map[string]bool{}
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
		for object := range s.Objects(kind) {
			uids[object.Value.Metadata.UID] = true
		}
	}
	delete(uids, "")
	return uids
}
