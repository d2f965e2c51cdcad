package agent

import (
	"cmp"
	"maps"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/runtime"
)

const neverback = "no"

// containerSpec returns the spec of a task's container.
func containerSpec(task api.Task, release node.Release) runtime.ContainerSpec {
	spec := runtime.ContainerSpec{
		Name:    containerName(task, release),
		Labels:  labels(task, release),
		Image:   release.Image,
		ImageID: release.ImageID,
		Env:     environment(task, release.Env),
		Spec:    withClaims(task, release),
		Restart: release.Spec.Restart,

		Confined: release.Confined,
		Private:  task.Role != api.RoleMain,
	}
	spec.Restart = cmp.Or(spec.Restart, api.DefaultRestart)
	if spec.Spec.NetworkMode == "host" {
		spec.Spec.Ports = nil // they are the host's already
	}
	if task.Class == api.ClassOnce {
		spec.Restart = neverback
	}
	if task.Class != api.ClassOnce || task.Kind.TimeBoxed() {
		spec.Aliases = aliases(task, release.Spec.Aliases)
	}
	return spec
}

// containerName returns the pod's container name at the engine. It differs from the pod's name if a plugin chose one
// with dots.
func containerName(task api.Task, release node.Release) string {
	if release.Dotted == "" {
		return task.ContainerName()
	}
	return task.Scope + "-" + release.Dotted + "." + task.Slot
}

func labels(task api.Task, release node.Release) map[string]string {
	return map[string]string{
		api.LabelKind: string(task.Kind), api.LabelScope: task.Scope, api.LabelName: task.Name,
		api.LabelSlot: task.Slot, api.LabelTask: task.ID, api.LabelRelease: task.Release,
		api.LabelFingerprint: release.Fingerprint,
	}
}

// aliases returns the DNS names of the workload, those of the ordinal before those shared with the others, and further
// ones last. A task that runs once serves no requests and has none, unless it is a lab.
func aliases(task api.Task, further []string) []string {
	var names []string
	if _, ok := task.Ordinal(); ok {
		names = api.ServiceNames(task.Name+"-"+task.Slot, task.Scope)
	}
	names = append(names, api.ServiceNames(task.Name, task.Scope)...)
	for _, alias := range further {
		names = append(names, api.ServiceNames(alias, task.Scope)...)
	}
	return names
}

// environment returns the configured variables, overridden by those that identify the container.
func environment(task api.Task, configured map[string]string) map[string]string {
	env := maps.Clone(configured)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, task.Identity())
	return env
}
