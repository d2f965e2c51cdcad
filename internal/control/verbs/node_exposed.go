package verbs

import (
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/records"
)

// exposed returns what a node could read, sorted: the secrets to replace once it turned out to be hostile. They are
// those of the tasks that it had, of the images that it was asked for, of the registries that it pulled from, and of
// the ingresses that it served.
func exposed(snap records.Snapshot, node string) []string {
	found, registries, every := map[string]bool{}, map[string]bool{}, false
	for _, task := range snap.TasksOn(node) {
		owner := task.Value.Owner()
		release := snap.ReleaseOf(*task.Value)
		if !release.Exists() {
			if task.Value.Release != "" {
				found[unrecorded(snap, *task.Value)] = true
			}
			continue
		}
		if len(release.Value.Env) > 0 {
			found["the environment of "+owner.String()] = true
		}
		if len(release.Value.AssetDigests) > 0 {
			found["the asset files of "+owner.String()] = true
		}
		registries[imageask.Registry(release.Value.Image)] = true
	}
	for _, request := range snap.ImageRequests() {
		asked, _ := imageask.Nodes(snap, *request.Value, node)
		if !slices.Contains(asked, node) && !answered(snap, node, *request.Value) {
			continue
		}
		registries[imageask.Registry(request.Value.Image)] = true
		if build := request.Value.Build; build != nil {
			every = true // it may start from an image of each
			found["the source of "+request.Value.Owner.String()] = true
			if len(build.Build.Secrets) > 0 {
				found["the build secrets of "+request.Value.Owner.String()+": "+strings.Join(build.Build.Secrets,
					" ")] = true
			}
		}
	}
	for _, image := range formerImages(snap, node) {
		registries[imageask.Registry(image)] = true
	}
	for object := range snap.Objects(api.KindRegistry) {
		if spec, err := api.DecodeSpec[api.RegistrySpec](*object.Value); err == nil &&
			(every || registries[spec.Host()]) {
			found["the credentials of "+object.Value.Ref().String()] = true
		}
	}
	if snap.ServesIngress(node) {
		exposedTLS(snap, found)
	}
	return slices.Sorted(maps.Keys(found))
}

// formerImages returns the images that a node was asked for by requests that are gone, with their object or before it.
func formerImages(snap records.Snapshot, node string) (images []string) {
	for record := range snap.Prefix(records.ActualImagesPrefix + node + "/") {
		status, ok := record.Value.(*api.ImageStatus)
		if !ok {
			continue
		}
		if request := snap.ImageRequest(status.Owner); !request.Exists() || !answered(snap, node, *request.Value) {
			images = append(images, status.Image)
		}
	}
	return images
}

// answered reports whether a node has answered a request of this object. The node may still have an answer for a
// deleted object of the same name.
func answered(snap records.Snapshot, node string, request api.ImageRequest) bool {
	status := snap.ImageStatus(node, request.Owner)
	return status.Exists() && status.Value.OwnerUID == request.OwnerUID
}

// unrecorded describes what a node could read of a task whose release is no longer stored: a leftover outlives the
// releases of its object, and the object itself.
func unrecorded(snap records.Snapshot, task api.Task) string {
	const all = "the environment, the asset files and the registry credentials of "
	owner := task.Owner()
	if object := snap.Object(owner); object.Exists() && object.Value.Metadata.UID == task.OwnerUID {
		return all + "release " + task.Release + " of " + owner.String() + ", which is no longer stored"
	}
	return all + owner.String() + ", which was deleted"
}

// exposedTLS adds what nodes that serve ingresses can read.
func exposedTLS(snap records.Snapshot, found map[string]bool) {
	for object := range snap.Objects(api.KindIngress) {
		if spec, err := api.DecodeSpec[api.IngressSpec](*object.Value); err == nil && spec.Secure() {
			found["the TLS key of "+strings.ToLower(spec.Host)] = true
		}
	}
	for range snap.Prefix(records.CertFilesPrefix + "acme/") {
		found["the accounts at certificate authorities (ACME)"] = true
	}
}

// revokeToken revokes the token with which a node joined, if another machine could still join with it: who was forced
// out knows it.
func revokeToken(d *downDecision, snap records.Snapshot, node string, s *Service) {
	member := snap.Member(node)
	if !member.Exists() || member.Value.Token == "" {
		return
	}
	token := snap.JoinToken(member.Value.Token)
	if !token.Exists() || token.Value.Spent(s.opts.Now()) {
		return
	}
	key := records.JoinTokenKey(token.Value.ID)
	d.txn.If(key, token.Modified).Delete(key)
	d.result.Rotate = append(d.result.Rotate, "the join token "+token.Value.ID+
		", which is revoked now: tend nodes add makes another for the machines that have not joined yet")
}
