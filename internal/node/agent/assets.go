package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/node/runtime"
)

// Assets are the asset files on this node.
type Assets interface {
	// Path returns the path of a digest's content, in a file named like the key. It is the same at each call, and the
	// content never changes. The error is ErrNoAsset if the content is not available.
	Path(ctx context.Context, digest, key string) (string, error)
}

// withAssets returns a release with references to asset files replaced by their paths: in its spec, and in the
// variables the spec declares. Values from buckets are literal.
func (r *releases) withAssets(ctx context.Context, scope string, release node.Release) (node.Release, error) {
	spaces := reference.Spaces{api.SpaceAsset: func(ref api.Reference) (string, error) {
		key, ok := api.AssetKey(ref, scope, func(key string) bool { return release.AssetDigests[key] != "" })
		if !ok {
			return "", fmt.Errorf("%s: %w", ref.Text, node.ErrNoBlob)
		}
		return r.path(ctx, key, release.AssetDigests[key])
	}}
	var err error
	if release.Env, err = envWithAssets(release, spaces); err != nil {
		return node.Release{}, missingAsset(release, err)
	}
	if release.Spec, err = specWithAssets(release.Spec, spaces); err != nil {
		return node.Release{}, missingAsset(release, err)
	}
	return release, nil
}

func (r *releases) path(ctx context.Context, key, digest string) (string, error) {
	if r.assets == nil {
		return "", fmt.Errorf("%s: %w: this node keeps no files", key, node.ErrNoBlob)
	}
	path, err := r.assets.Path(ctx, digest, key[strings.LastIndexByte(key, '.')+1:])
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return path, nil
}

// link makes sure that a release's files exist where its containers expect them: an engine that mounts a missing path
// creates a folder there.
func (r *releases) link(ctx context.Context, release node.Release) error {
	for key, digest := range release.AssetDigests {
		if _, err := r.path(ctx, key, digest); err != nil {
			return missingAsset(release, err)
		}
	}
	return nil
}

// missingAsset returns a rejection if the asset does not exist, else a transient error: a full disk may pass.
func missingAsset(release node.Release, cause error) error {
	detail := fmt.Sprintf("release %s: %s", release.ID, strings.ReplaceAll(cause.Error(), "\n", "; "))
	if !errors.Is(cause, node.ErrNoBlob) {
		return &runtime.TransientError{Reason: "AssetUnreadable", Detail: detail,
			Next: "check the disk of the pod's node; Tend retries"}
	}
	return &runtime.RejectedError{Reason: "AssetMissing", Detail: detail,
		Next: "apply the asset and this object again, or restore the blobs of a backup"}
}

// envWithAssets replaces references in the spec's own values.
func envWithAssets(release node.Release, spaces reference.Spaces) (map[string]string, error) {
	declared := map[string]string{}
	for name, text := range release.Spec.Env {
		if slices.ContainsFunc(api.References(text), func(r api.Reference) bool { return r.Space == api.SpaceAsset }) {
			declared[name] = release.Env[name]
		}
	}
	if len(declared) == 0 {
		return release.Env, nil
	}
	expanded, err := reference.ExpandMap(declared, spaces)
	env := make(map[string]string, len(release.Env))
	for name, value := range release.Env {
		if known, ok := expanded[name]; ok {
			value = known
		}
		env[name] = value
	}
	return env, err
}

// specWithAssets replaces references in every text of a spec except its webhooks, which no container uses. A volume
// that is an asset file is read-only: the file is shared by all its users.
func specWithAssets(spec api.DeploymentSpec, spaces reference.Spaces) (api.DeploymentSpec, error) {
	onDeploy, onProbe := spec.OnDeploy, spec.OnProbe
	spec.OnDeploy, spec.OnProbe = nil, nil
	raw, err := json.Marshal(spec)
	if err != nil {
		return spec, err
	}
	if bytes.Contains(raw, []byte("${"+api.SpaceAsset+".")) {
		volumes := readOnlyAssets(spec.Volumes)
		if spec, err = reference.ExpandValue(spec, spaces); err != nil {
			return spec, err
		}
		if spec.Volumes, err = reference.ExpandAll(volumes, spaces); err != nil {
			return spec, err
		}
	}
	spec.OnDeploy, spec.OnProbe = onDeploy, onProbe
	return spec, nil
}

// readOnlyAssets returns volumes with those made read-only whose source is an asset file.
func readOnlyAssets(volumes []string) []string {
	out := make([]string, len(volumes))
	for i, entry := range volumes {
		out[i] = entry
		if !api.AssetMount(entry) {
			continue
		}
		found := reference.Find(entry)[0]
		target, mode, hasMode := strings.Cut(strings.TrimPrefix(entry[found.End:], ":"), ":")
		switch {
		case !hasMode:
			mode = "ro"
		case !readOnly(mode):
			mode += ",ro"
		}
		out[i] = found.Text + ":" + target + ":" + mode
	}
	return out
}

func readOnly(mode string) bool {
	for option := range strings.SplitSeq(mode, ",") {
		if option == "ro" {
			return true
		}
	}
	return false
}
