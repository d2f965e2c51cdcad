package records

import (
	"strings"

	"tend.dev/tend/api"
)

// ReferredFiles returns the digests of files in use: those of assets, those stamped on objects, source trees, and those
// of releases, which are kept for rollbacks.
func (s Snapshot) ReferredFiles() map[string]bool {
	return s.FilesUsedBy(func(api.Ref) bool { return true })
}

// FilesUsedBy returns the digests that objects and their releases refer to, of the objects that sees accepts.
func (s Snapshot) FilesUsedBy(sees func(owner api.Ref) bool) map[string]bool {
	used := map[string]bool{}
	for owner, digest := range s.fileReferences {
		if !used[digest] && sees(owner) {
			used[digest] = true
		}
	}
	return used
}

// FileUsedBy reports whether an object that sees accepts, or a release of it, refers to a digest.
func (s Snapshot) FileUsedBy(digest string, sees func(owner api.Ref) bool) bool {
	for owner, referred := range s.fileReferences {
		if referred == digest && sees(owner) {
			return true
		}
	}
	return false
}

// fileReferences yields each digest that something refers to, after the object that does.
func (s Snapshot) fileReferences(yield func(owner api.Ref, digest string) bool) {
	all := func(owner api.Ref, digests ...map[string]string) bool {
		for _, some := range digests {
			for _, digest := range some {
				if !yield(owner, digest) {
					return false
				}
			}
		}
		return true
	}
	for _, kind := range api.Kinds {
		for object := range s.Objects(kind) {
			owner, tree := object.Value.Ref(), object.Value.Tree()
			if !all(owner, object.Value.FileDigests(), object.Value.AssetDigests(), object.Value.HookDigests()) ||
				tree != "" && !yield(owner, tree) {
				return
			}
		}
	}
	for record := range s.Prefix(ReleasesPrefix) {
		if release, ok := record.Value.(*api.Release); ok {
			if !all(release.Owner(), release.AssetDigests) ||
				release.Build != nil && !yield(release.Owner(), release.Build.Tree) {
				return
			}
		}
	}
}

// ImagesUsedBy returns the references to images: the names (<scope>-<name>:<build>) of built ones, and the references,
// ids and registry digests of others. Objects, and their init containers, refer to the images that they are made from;
// requests to agents and releases refer to theirs. Tasks refer to releases.
//
// Of objects that sees doesn't accept it returns what no registry can give again: the names of built images, which have
// a hash of the source, and the ids of images that were loaded. A node that knows one may have the only copy.
func (s Snapshot) ImagesUsedBy(sees func(owner api.Ref) bool) map[string]bool {
	used := map[string]bool{}
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
		for object := range s.Objects(kind) {
			if spec, err := api.DecodeWorkload(kind, object.Value.Spec); err == nil {
				image, build := object.Value.WantedImage(spec.Container)
				addImage(used, image, build, sees(object.Value.Ref()), spec.Inits)
			}
		}
	}
	for _, request := range s.ImageRequests() {
		addImage(used, request.Value.Image, request.Value.Build, sees(request.Value.Owner), nil)
	}
	for record := range s.Prefix(ReleasesPrefix) {
		if release, ok := record.Value.(*api.Release); ok {
			addRelease(used, release, sees(release.Owner()))
		}
	}
	delete(used, "")
	return used
}

func addRelease(used map[string]bool, release *api.Release, seen bool) {
	if release.Build != nil {
		used[release.Build.Image(release.Owner())] = true
	}
	if seen || release.ImageDigest == "" {
		used[release.ImageID] = true
	}
	if !seen {
		return
	}
	used[release.ImageDigest[strings.LastIndex(release.ImageDigest, "@")+1:]] = true
	var inits []api.Init
	if spec, err := api.DecodeWorkload(release.Kind, release.Spec); err == nil {
		inits = spec.Inits
	}
	addImage(used, release.Image, nil, seen, inits)
}

// addImage adds the image of an object that is seen, or is built, and those of its init containers.
func addImage(used map[string]bool, image string, build *api.ImageBuild, seen bool, inits []api.Init) {
	if seen || build != nil {
		used[image] = true
	}
	if !seen {
		return
	}
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
