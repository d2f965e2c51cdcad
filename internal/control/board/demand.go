package board

import (
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/core/ports"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/records"
)

// demand holds the requirements of a release's tasks: of a node, and where they keep data.
type demand struct {
	*placement.Demand
	// quiet is the same without ports: the commands of a release publish nothing.
	quiet *placement.Demand
	// volumes lists the volumes of every task, claims the claims that each ordinal has for itself.
	volumes []string
	claims  []api.VolumeClaim
}

// demands caches what was read from stored releases and objects: neither changes within one revision.
type demands struct {
	mu    sync.Mutex
	known map[demandKey]demand
}

// demandKey names a release, with the revisions that created it and that modified its object: a name may come back
// after its object was deleted, and one revision writes many, as a restore does.
type demandKey struct {
	owner           api.Ref
	id              string
	release, object int64
}

func newDemands() *demands { return &demands{known: map[demandKey]demand{}} }

func (d *demands) of(snapshot records.Snapshot, task *api.Task) demand {
	release, object := snapshot.ReleaseOf(*task), snapshot.Object(task.Owner())
	d.mu.Lock()
	defer d.mu.Unlock()
	key := demandKey{task.Owner(), task.Release, release.Created, object.Modified}
	stored := snapshot.Plain().Object(task.Owner()).Value == object.Value // else a dry run would have it so
	if known, ok := d.known[key]; ok && stored {
		return known
	}
	if len(d.known) > 100_000 {
		clear(d.known)
	}
	// This one stays for a release that panics: it stops no other task.
	read := demand{Demand: &placement.Demand{}, quiet: &placement.Demand{}}
	reads := func() error { read = demandOf(release.Value, object.Value); return nil }
	_ = recovery.Call(reads, "object", task.Owner().String())
	if stored {
		d.known[key] = read
	}
	return read
}

// demandOf reads what the containers of a release require, and what its object says of their placement. Both were
// validated when they were applied; what can't be read requires nothing.
func demandOf(release *api.Release, object *api.Object) demand {
	out := demand{Demand: &placement.Demand{}}
	var placed *api.Placement
	global := false
	if object != nil {
		if spec, err := api.DecodeWorkload(object.Kind, object.Spec); err == nil {
			placed, global = spec.Placement, spec.Global()
			out.Rules = rules(object.Ref(), spec)
		}
	}
	if release != nil {
		out.Arch, out.Need = release.RequiredArch(), fit.Release(*release)
		if spec, err := api.DecodeWorkload(release.Kind, release.Spec); err == nil {
			if flags, err := dockerflags.Parse(spec.DockerOptions); err == nil && flags.Platform != "" {
				out.Arch = "" // it is emulated on purpose
			}
			out.Ports = ports.Fixed(spec.DeploymentSpec)
			out.require(spec.Resources)
			for _, init := range spec.Inits { // one runs after another, in the place of the container
				out.require(init.Resources)
			}
			if !global && (placed == nil || !placed.SharedStorage) {
				out.claims, out.volumes = spec.Claims, dataVolumes(spec.Volumes)
			}
		}
	}
	quiet := *out.Demand
	quiet.Ports = nil
	out.quiet = &quiet
	return out
}

func (d *demand) require(resources *api.Resources) {
	if resources == nil {
		return
	}
	if limits := resources.Limits; limits != nil {
		d.CPUs, d.MemoryBytes = atLeast(d.CPUs, d.MemoryBytes, limits.CPU, limits.Memory)
	}
	if reserved := resources.Reservations; reserved != nil {
		d.ReservedCPUs, d.ReservedMemory = atLeast(d.ReservedCPUs, d.ReservedMemory, reserved.CPU, reserved.Memory)
	}
}

func atLeast(cpus float64, memory int64, moreCPUs, moreMemory string) (float64, int64) {
	asked, _ := api.ParseCPU(moreCPUs)
	bytes, _ := api.ParseMemory(moreMemory)
	return max(cpus, asked), max(memory, bytes)
}

// rules returns the rules of the placement block. They put the pods of a global deployment on different nodes.
func rules(ref api.Ref, spec api.WorkloadSpec) placement.Rules {
	var out placement.Rules
	if spec.Global() {
		out.Apart = []string{ref.String()}
	}
	block := spec.Placement
	if block == nil {
		return out
	}
	out.Constraints, out.Preferences, out.Spread = placement.Constraints(block.Constraints),
		placement.Constraints(block.Preferences), block.Spread
	out.Beside = workloads(block.Affinity, ref.Scope)
	out.Apart = append(out.Apart, workloads(block.AntiAffinity, ref.Scope)...)
	return out
}

func workloads(entries []string, scope string) (out []string) {
	for _, entry := range entries {
		if ref, err := api.ParseDependency(entry, scope); err == nil {
			out = append(out, ref.String())
		}
	}
	return out
}

func dataVolumes(entries []string) (out []string) {
	for _, entry := range entries {
		if v, err := api.ParseVolume(entry); err == nil && v.Data() {
			out = append(out, v.Source)
		}
	}
	return out
}

// at returns where a task keeps data.
func (d demand) at(task *api.Task) []string {
	n, ok := task.Ordinal()
	if !ok || len(d.claims) == 0 {
		return d.volumes
	}
	out := append([]string(nil), d.volumes...)
	for _, claim := range d.claims {
		out = append(out, api.ClaimVolume(task.Owner(), claim.Name, n))
	}
	return out
}
