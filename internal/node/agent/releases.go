package agent

import (
	"context"
	"maps"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
)

// maxReleases bounds the cache: releases hold decrypted environments.
const maxReleases = 256

// releases caches fetched releases; a release never changes.
type releases struct {
	control    nodeapi.Assignments
	assets     Assets
	controller string
	mu         sync.Mutex
	known      map[releaseKey]node.Release
}

// releaseKey includes the owner's uid: release numbers start over when an object is deleted and created again.
type releaseKey struct {
	owner   api.Ref
	uid, id string
}

func keyOf(task api.Task) releaseKey {
	return releaseKey{owner: task.Owner(), uid: task.OwnerUID, id: task.Release}
}

func newReleases(control nodeapi.Assignments, assets Assets, controller string) *releases {
	return &releases{control: control, assets: assets, controller: controller, known: map[releaseKey]node.Release{}}
}

// of returns the release as the task runs it.
func (r *releases) of(ctx context.Context, task api.Task) (node.Release, error) {
	if release, ok := r.cached(task); ok {
		return release, nil
	}
	release, err := r.control.Release(ctx, task)
	if err != nil {
		return node.Release{}, err
	}
	if release, err = r.withAssets(ctx, task.Scope, release); err != nil {
		return node.Release{}, err
	}
	r.addController(&release)
	release = asDeclared(release)
	release.Scope = task.Scope
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxReleases {
		clear(r.known)
	}
	r.known[keyOf(task)] = release
	return asRole(release, task.Role), nil
}

func (r *releases) cached(task api.Task) (node.Release, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	release, ok := r.known[keyOf(task)]
	return asRole(release, task.Role), ok
}

// addController sets the URL of the machine's callback listener under both of its names. It replaces a value of the
// manifest's own: only the URL with the object's token is answered.
func (r *releases) addController(release *node.Release) {
	if r.controller == "" || release.CallbackPath == "" {
		return
	}
	release.Env = maps.Clone(release.Env)
	if release.Env == nil {
		release.Env = map[string]string{}
	}
	for _, name := range []string{api.EnvController, oldController} {
		release.Env[name] = r.controller + release.CallbackPath
	}
}

// oldController is the name by which plugins know api.EnvController.
const oldController = "VOODU_CONTROLLER_URL"
