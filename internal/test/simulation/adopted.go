package simulation

import (
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// fits: a container that takes a place in a restored store, where releases may have the numbers of others, is one that
// the release of the place makes. Its task was known before, with the release it was made from.
func (a *archive) fits(made taskRecord, task api.Task) {
	release, known := a.releases[records.ReleaseKey(task.Owner(), task.Release)]
	if !known {
		return // it goes with its object
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
