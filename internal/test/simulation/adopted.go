package simulation

import (
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// fits: a container adopted into a restored store was made from the release of its new task. Releases of that store may
// have the numbers of others; the container's former task is known, with the release it was made from.
func (a *archive) fits(made taskRecord, task api.Task) {
	release, known := a.releases[records.ReleaseKey(task.Owner(), task.Release)]
	if !known {
		return // the task is deleted with its object
	}
	var was, is api.DeploymentSpec
	decode(made.release.Spec, &was)
	decode(release.Spec, &is)
	wasEnv, err := a.w.openEnv(made.release.Env)
	isEnv, errNow := a.w.openEnv(release.Env)
	sameEnv := err == nil && errNow == nil && maps.Equal(wasEnv, isEnv)
	if made.release.ImageID != release.ImageID || !slices.Equal(was.Command, is.Command) || !sameEnv {
		a.w.fail("%s, made as %s %q with %v, is taken for one of release %s, which is %s %q with %v", task.ContainerName(),
			made.release.Image, was.Command, wasEnv, task.Release, release.Image, is.Command, isEnv)
	}
}
