package verbs

import (
	"fmt"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/records"
)

// warnOfPorts warns of ports that aren't published because the container has the host's network.
func (p *placed) warnOfPorts() {
	if !p.next.Kind.HasContainers() {
		return
	}
	spec, err := api.DecodeWorkload(p.next.Kind, p.next.Spec)
	if err == nil && spec.NetworkMode == "host" && len(spec.Ports) > 0 {
		p.result.Warnings = append(p.result.Warnings,
			"ports: not published: with network_mode host the container's ports are the host's; leave ports out, or network_mode")
	}
}

// warnOfHooks warns of webhooks that refer to a missing config value. It may be set later: the value is looked up when
// the webhook is called.
func (p *placed) warnOfHooks(snap records.Snapshot) {
	if !p.next.Kind.HasSlots() {
		return
	}
	spec, err := api.DecodeWorkload(p.next.Kind, p.next.Spec)
	if err != nil {
		return
	}
	for path, hook := range spec.Hooks() {
		var missing []string
		there := func(r api.Reference) (string, error) {
			buckets, key := env.OfReference(p.next.Ref(), spec.EnvFrom, r)
			if !slices.ContainsFunc(buckets, func(b env.Bucket) bool { _, found := snap.Get(Bucket(b).prefix() + key); return found }) {
				missing = append(missing, fmt.Sprintf("%s: %s: there is no config value %s yet; set it with tend config set %s %s=…",
					path, r.Text, key, Bucket(buckets[len(buckets)-1]), key))
			}
			return "", nil
		}
		_, _ = reference.ExpandValue(hook, reference.Spaces{api.SpaceConfig: there})
		slices.Sort(missing)
		p.result.Warnings = append(p.result.Warnings, slices.Compact(missing)...)
	}
}
