package volumes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Use lists the volumes and folders that the pods of one object may write to.
type Use struct {
	Ref api.Ref
	// Written are the volumes and the folders of the host, each once. An object without replicas has none.
	Written []string
	labels  map[string]string
}

// UseOf returns what the pods of an object may write to, the volumes of its claims among them. A spec that can't be
// read uses nothing; validation reports it.
func UseOf(object api.Object) Use {
	return useBy(object.Ref(), object.Spec, 0)
}

// UseBy returns what a pod of a spec may write to, whatever the number of replicas: a release has none, and the last
// pods of a spec with 0 may still run.
func UseBy(ref api.Ref, spec json.RawMessage) Use { return useBy(ref, spec, 1) }

func useBy(ref api.Ref, raw json.RawMessage, least int) Use {
	use := Use{Ref: ref}
	if !ref.Kind.HasContainers() {
		return use
	}
	spec, err := api.DecodeWorkload(ref.Kind, raw)
	if err != nil || max(spec.MostReplicas(), least) == 0 {
		return use
	}
	use.Written, use.labels = Written(spec.DeploymentSpec), spec.Labels
	for _, claim := range spec.Claims {
		for ordinal := range max(spec.MostReplicas(), least) {
			use.Written = append(use.Written, api.ClaimVolume(ref, claim.Name, ordinal))
		}
	}
	use.Written = once(use.Written)
	return use
}

// Alone returns what the pods write to and expect no other writer of: no label declares it for several.
func (u Use) Alone() []string {
	return slices.DeleteFunc(slices.Clone(u.Written), func(source string) bool { return shares(u.labels, source) })
}

// Both returns the first volume or folder that both may write to, although no label declares it for several writers;
// empty if there is none. Pods of one object are left to Several.
func (u Use) Both(other Use) string {
	if u.Ref == other.Ref {
		return ""
	}
	theirs := other.Alone()
	for _, source := range u.Alone() {
		if slices.Contains(theirs, source) {
			return source
		}
	}
	return ""
}

// mostNamed bounds the objects that Beside names.
const mostNamed = 4

// Beside returns the warning that several objects write to a volume or folder at once. writers names them.
func Beside(source string, writers []string) string {
	more := ""
	if n := len(writers) - mostNamed; n > 0 {
		writers, more = writers[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	names := strings.Join(writers, ", ")
	if last := len(writers) - 1; more == "" && last > 0 {
		names = strings.Join(writers[:last], ", ") + " and " + writers[last]
	}
	return fmt.Sprintf("volumes: %s%s write to the %s at once, which breaks a database: delete the one that is no longer "+
		"needed, or mount it read-only (%s:…:ro); or say that several may: labels = { %q = %q }",
		names, more, place(source), source, api.SharedVolumes, source)
}
