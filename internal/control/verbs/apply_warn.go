package verbs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/lab"
	"tend.dev/tend/internal/core/outcome"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/store/records"
)

// warn adds what a person should know of each object, though nothing is refused for it.
func (s *Service) warn(
	d *applyDecision, snap records.Snapshot, pruned []records.Read[api.Object], opts ApplyOptions,
) {
	for i := range d.placed {
		d.placed[i].warnOfHooks(snap)
		d.placed[i].warnOfPorts()
		d.placed[i].warnOfReplicas()
		d.placed[i].warnOfMoved()
		d.placed[i].warnOfZone()
		d.placed[i].warnOfLab(snap)
	}
	world := worldOf(snap, d.merged(), pruned)
	warnOfReferences(world, d.placed)
	d.warnOfRenamed(snap, pruned)
	warnOfWriters(snap, d.placed, pruned, opts.rights)
	for i := range d.placed {
		if opts.DryRun { // an apply waits, and ends with what is wrong
			if d.placed[i].sayUnmet(snap) {
				continue // its condition says what a warning would
			}
			d.placed[i].warnOfService(world)
			d.placed[i].warnOfNodes(snap, s.opts.Impossible)
		}
	}
}

// warnOfService warns of an ingress that would lead nowhere.
func (p *placed) warnOfService(world dependencyWorld) {
	if p.next.Kind != api.KindIngress {
		return
	}
	spec, err := api.DecodeSpec[api.IngressSpec](p.next)
	if err != nil {
		return
	}
	target := api.Ref{Kind: api.KindDeployment, Scope: p.next.Scope, Name: spec.ServiceName(p.next.Name)}
	for _, kind := range api.KindsThat(api.Kind.Serves) {
		if world.has(api.Ref{Kind: kind, Scope: target.Scope, Name: target.Name}) {
			return
		}
	}
	p.result.Warnings = append(p.result.Warnings,
		spec.NoService(p.next.Ref())+world.hint(p.next.Ref(), target, api.Kind.Serves))
}

// warnOfNodes warns of pods that no node could take.
func (p *placed) warnOfNodes(
	snap records.Snapshot, impossible func(records.Snapshot, api.Object) (placement.Refusal, bool),
) {
	if !p.next.Kind.HasContainers() {
		return
	}
	if refused, is := impossible(snap, p.next); is {
		p.result.Warnings = append(p.result.Warnings, refused.Message+": "+refused.Next)
	}
}

// sayUnmet adds the reason why an object that the apply would leave as it is isn't as declared, and reports whether it
// did.
func (p *placed) sayUnmet(snap records.Snapshot) bool {
	if !p.stored.Exists() || len(p.result.Changes) > 0 {
		return false
	}
	object, err := statusOf(snap, p.stored)
	if err == nil {
		p.result.Unmet, err = outcome.Unmet(object)
	}
	return err == nil && p.result.Unmet != nil // a status that can't be read says nothing
}

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

// warnOfReplicas warns of replicas that write to one volume, as scale does, and of a scale to 0 that the apply keeps.
func (p *placed) warnOfReplicas() {
	if !p.next.Kind.HasSlots() {
		return
	}
	spec, err := api.DecodeSpec[api.DeploymentSpec](p.next)
	if err != nil {
		return
	}
	if warning := volumes.Several(spec, spec.MostReplicas()); warning != "" {
		p.result.Warnings = append(p.result.Warnings, warning)
	}
	if p.next.Metadata.Stamps[api.StampScaled] == noReplicas && spec.ReplicaCount() == 0 {
		p.result.Warnings = append(p.result.Warnings, fmt.Sprintf("it stays scaled to 0, since the manifest names no "+
			"replicas; to run one: tend scale %s/%s 1", p.next.Scope, p.next.Name))
	}
}

// warnOfZone warns of a scope whose short names are the public DNS's.
func (p *placed) warnOfZone() {
	if p.next.Kind.Serves() && !p.stored.Exists() && api.ZonedAlone(p.next.Scope) {
		p.result.Warnings = append(p.result.Warnings,
			fmt.Sprintf("containers reach it as %s alone: names that end in .%s are not of the cluster",
				api.ServiceNames(p.next.Name, p.next.Scope)[0], p.next.Scope))
	}
}

// warnOfLab warns of changes that come too late for a lab.
func (p *placed) warnOfLab(snap records.Snapshot) {
	status := snap.LabStatus(p.next.Ref())
	if !p.next.Kind.TimeBoxed() || !p.stored.Exists() || !status.Exists() {
		return
	}
	if status.Value.Phase == api.LabProvisioning && status.Value.Failures > 0 {
		return // what is corrected is tried at once
	}
	var fields []string
	for _, change := range p.result.Changes {
		field, _, _ := strings.Cut(change.Path, ".")
		field, _, _ = strings.Cut(field, "[")
		fields = append(fields, field)
	}
	if warning := lab.Unheeded(status.Value.Phase, fields); warning != "" {
		p.result.Warnings = append(p.result.Warnings, warning)
	}
}

// warnOfHooks warns of webhooks and sinks that refer to a missing config value. It may be set later: the value is
// looked up when something is sent.
func (p *placed) warnOfHooks(snap records.Snapshot) {
	if p.next.Kind == api.KindSink {
		var spec any
		if json.Unmarshal(p.next.Spec, &spec) == nil {
			warnOfMissing(p, snap, "sink", spec, nil)
		}
		return
	}
	if !p.next.Kind.HasSlots() {
		return
	}
	spec, err := api.DecodeWorkload(p.next.Kind, p.next.Spec)
	if err != nil {
		return
	}
	for path, hook := range spec.Hooks() {
		warnOfMissing(p, snap, path, hook, spec.EnvFrom)
	}
}

// warnOfMissing warns of the config values that a part of a spec refers to and no bucket has.
func warnOfMissing[T any](p *placed, snap records.Snapshot, path string, part T, envFrom []string) {
	var missing []string
	there := func(r api.Reference) (string, error) {
		buckets, key := env.OfReference(p.next.Ref(), envFrom, r)
		if !slices.ContainsFunc(buckets,
			func(b env.Bucket) bool { _, found := snap.Get(Bucket(b).prefix() + key); return found }) {
			missing = append(missing, fmt.Sprintf(
				"%s: %s: there is no config value %s yet; set it with tend config set %s %s=…",
				path, r.Text, key, Bucket(buckets[len(buckets)-1]), key))
		}
		return "", nil
	}
	_, _ = reference.ExpandValue(part, reference.Spaces{api.SpaceConfig: there})
	slices.Sort(missing)
	p.result.Warnings = append(p.result.Warnings, slices.Compact(missing)...)
}
