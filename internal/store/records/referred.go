package records

import (
	"strings"

	"tend.dev/tend/api"
)

// ReferredFiles returns the digests of files in use: those of assets, those stamped on objects, source trees, and those
// of releases, which are kept for rollbacks.
func (s Snapshot) ReferredFiles() map[string]bool {
	return s.FilesUsedIn(func(string) bool { return true })
}

// FilesUsedIn returns the digests that objects and releases refer to, of those in scopes that sees accepts.
func (s Snapshot) FilesUsedIn(sees func(scope string) bool) map[string]bool {
	used := map[string]bool{}
	for scope, digest := range s.fileReferences {
		if !used[digest] && sees(scope) {
			used[digest] = true
		}
	}
	return used
}

// FileUsedIn reports whether an object, or a release, in a scope that sees accepts refers to a digest.
func (s Snapshot) FileUsedIn(digest string, sees func(scope string) bool) bool {
	for scope, referred := range s.fileReferences {
		if referred == digest && sees(scope) {
			return true
		}
	}
	return false
}

// fileReferences yields each digest that something refers to, after the scope of that.
func (s Snapshot) fileReferences(yield func(scope, digest string) bool) {
	all := func(scope string, digests ...map[string]string) bool {
		for _, some := range digests {
			for _, digest := range some {
				if !yield(scope, digest) {
					return false
				}
			}
		}
		return true
	}
	for _, kind := range api.Kinds {
		for object := range s.Objects(kind) {
			scope, tree := object.Value.Scope, object.Value.Tree()
			if !all(scope, object.Value.FileDigests(), object.Value.AssetDigests(), object.Value.HookDigests()) ||
				tree != "" && !yield(scope, tree) {
				return
			}
		}
	}
	for record := range s.Prefix(ReleasesPrefix) {
		if release, ok := record.Value.(*api.Release); ok {
			if !all(release.Scope, release.AssetDigests) ||
				release.Build != nil && !yield(release.Scope, release.Build.Tree) {
				return
			}
		}
	}
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
