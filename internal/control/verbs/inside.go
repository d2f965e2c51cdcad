package verbs

import (
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// RefuseInside returns why a person, or a source, may not decide what runs in pods of an object: by a command, or by
// what they read (config, files of assets). It is nil if they may. What runs there has all that the pods have, so the
// object counts as it is declared, and as each of the pods was made.
func (s *Service) RefuseInside(
	rights source.Rights, snap records.Snapshot, object api.Object, pods []records.Read[api.Task],
) *source.Error {
	if rights.Trusted || !object.Kind.HasContainers() {
		return nil
	}
	rights = s.rightsOver(rights, snap, nil)
	declared := []api.Object{object}
	for _, pod := range pods {
		if runsProcesses(snap.Node(pod.Value.Node)) {
			return source.NewFault(api.ReasonNotAllowed, "ask an admin",
				"%s is a plain process of its node, which reaches the host", pod.Value.ContainerName())
		}
		if release := snap.ReleaseOf(*pod.Value); release.Exists() {
			made := object
			made.Spec, made.Metadata.Stamps = release.Value.Spec, stamped(map[string]string{}, api.StampGivenPorts,
				object.Metadata.Stamps[api.StampGivenPorts])
			if release.Value.Confined {
				made.Metadata.Stamps[api.StampConfined] = "true"
			}
			declared = append(declared, made)
		}
	}
	for _, object := range declared {
		if fault := rights.RefuseCommand(object); fault != nil {
			return fault
		}
	}
	return nil
}

func runsProcesses(node records.Read[api.NodeStatus]) bool {
	return node.Exists() && node.Value.Runtime == "process"
}

// refuseReached is RefuseInside for all pods of an object that a change reaches, those to come among them: where no pod
// runs now, any node may be the next one's.
func (s *Service) refuseReached(rights source.Rights, snap records.Snapshot, object api.Object) *source.Error {
	pods := snap.TasksOf(object.Ref())
	if fault := s.RefuseInside(rights, snap, object, pods); fault != nil || rights.Trusted {
		return fault
	}
	if len(pods) > 0 || !object.Kind.HasContainers() || !mayBeProcess(snap, object) {
		return nil
	}
	for _, node := range snap.Nodes() {
		if runsProcesses(node) {
			return source.NewFault(api.ReasonNotAllowed, "ask an admin",
				"%s: its pods may be plain processes of node %s, which reach the host", object.Ref(), node.Value.ID)
		}
	}
	return nil
}

// mayBeProcess reports whether the next pods of an object may be plain processes: as it is declared, or as one of its
// releases says, to which it may return.
func mayBeProcess(snap records.Snapshot, object api.Object) bool {
	if object.Confined() {
		return false
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return true // what can't be read requires nothing
	}
	var facts fit.Facts
	for _, release := range snap.Releases(object.Ref()) {
		if fit.Release(*release.Value).Within(spec.Placement).Takes(api.RuntimeProcess) {
			return true
		}
		facts.Runtime = ""
		if release.Value.Image == spec.Image { // as of the newest one, which has the image that is declared
			facts.Runtime = release.Value.RequiredRuntime()
		}
	}
	return fit.Of(spec, facts).Within(spec.Placement).Takes(api.RuntimeProcess)
}

// refuseConfig returns an error if a person may not change a bucket: a variable such as LD_PRELOAD is a program that
// runs in the pods that get it.
func (s *Service) refuseConfig(rights source.Rights, snap records.Snapshot, bucket Bucket) error {
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
		for object := range snap.Objects(kind) {
			if rights.Trusted || !env.ReadBy(*object.Value, env.Bucket(bucket)) {
				continue
			}
			if fault := s.refuseReached(rights, snap, *object.Value); fault != nil {
				return configRefused(bucket, object.Value.Ref(), fault, rights)
			}
		}
	}
	return nil
}

func configRefused(bucket Bucket, ref api.Ref, fault *source.Error, rights source.Rights) error {
	detail, next := ref.String()+" reads this config: "+fault.Message, "ask an admin to set it"
	if !rights.Sees(ref.Scope) {
		detail = "an object of another scope reads this config, and it reaches the host"
	}
	if bucket.Name == "" {
		next = "set it for the single objects that need it (" + bucket.Scope + "/NAME), or " + next
	}
	return &Error{Reason: Forbidden, Detail: detail + "; nothing was stored", Next: next}
}

// refuseFiles adds the stored objects whose files an apply changes, though who applies may not decide what runs there.
func (s *Service) refuseFiles(d *applyDecision, rights source.Rights, snap records.Snapshot, found *faults) {
	for _, p := range d.placed {
		if !p.stored.Exists() || maps.Equal(p.stored.Value.AssetDigests(), p.next.AssetDigests()) {
			continue
		}
		fault := s.refuseReached(rights, snap, *p.stored.Value)
		switch {
		case fault == nil:
		case rights.Sees(p.next.Scope):
			found.add(Forbidden, p.next.Ref(), "assets", "ask an admin to apply the asset",
				"a file that it uses changes: %s", fault.Message)
		default:
			found.add(Forbidden, p.next.Ref(), "assets", "ask an admin to apply the asset",
				"a file that it uses changes, and it reaches the host")
		}
	}
}

// refuseWithheld adds the ingresses by which an apply would take variables from stored objects, though who applies may
// not decide what runs there: an ingress withholds the keys of its certificate, as `tend config unset` would.
func (s *Service) refuseWithheld(d *applyDecision, rights source.Rights, snap records.Snapshot, found *faults) {
	for _, p := range d.placed {
		before, after := source.CertificateOf(p.stored.Value), source.CertificateOf(&p.next)
		if rights.Trusted || before == after {
			continue
		}
		for _, kind := range api.KindsThat(api.Kind.HasContainers) {
			for object := range snap.Objects(kind) {
				kept := before.WithheldFrom(*object.Value)
				for _, key := range after.WithheldFrom(*object.Value) {
					if slices.Contains(kept, key) || !readsKey(snap, *object.Value, p.next.Ref(), key) {
						continue
					}
					if fault := s.refuseReached(rights, snap, *object.Value); fault != nil {
						whose := object.Value.Ref().String() + ": " + fault.Message
						if !rights.Sees(object.Value.Scope) {
							whose = "an object of another scope, which reaches the host"
						}
						found.add(Forbidden, p.next.Ref(), "tls", "name keys that only the ingress uses, or ask an admin to apply it",
							"it would withhold %s from %s", key, whose)
						break
					}
				}
			}
		}
	}
}

// readsKey reports whether an object has a variable of a key in the buckets of an ingress: that of its own name, or of
// its scope.
func readsKey(snap records.Snapshot, object api.Object, ingress api.Ref, key string) bool {
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	for _, bucket := range []Bucket{{Scope: ingress.Scope}, {Scope: ingress.Scope, Name: ingress.Name}} {
		_, there := snap.Get(bucket.prefix() + key)
		if there && (err != nil || env.Reads(object.Ref(), spec.EnvFrom, env.Bucket(bucket))) {
			return true
		}
	}
	return false
}
