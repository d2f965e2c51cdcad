package verbs

import (
	"encoding/json"
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ownership"
)

// ReleaseChanges lists the fields in which a release differs from the one before, as the manifest names them and
// without their values. config.KEY is a value of a bucket; "image content" is an image that was replaced under its
// name.
func (s *Service) ReleaseChanges(before, after api.Release) []string {
	var out []string
	if changes, err := Changes(before.Spec, after.Spec); err == nil {
		for _, change := range changes {
			out = append(out, change.Path)
		}
	}
	declared := len(out)
	for _, key := range s.changedEnv(before, after) {
		if !slices.Contains(out[:declared], ownership.Below("env", key)) {
			out = append(out, "config."+key)
		}
	}
	files := maps.Clone(before.AssetDigests)
	if files == nil {
		files = map[string]string{}
	}
	maps.Copy(files, after.AssetDigests)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if before.AssetDigests[file] != after.AssetDigests[file] {
			out = append(out, "asset."+file)
		}
	}
	switch {
	case before.Build.Name() != after.Build.Name():
		out = append(out, "source")
	case before.Image == after.Image && before.ImageID != after.ImageID:
		out = append(out, "image content")
	}
	return out
}

// changedEnv lists the variables in which two releases differ. Environments that can't be decrypted count as equal.
func (s *Service) changedEnv(before, after api.Release) []string {
	if before.EnvHash == after.EnvHash || s.opts.Open == nil {
		return nil
	}
	a, errA := s.openEnv(before)
	b, errB := s.openEnv(after)
	if errA != nil || errB != nil {
		return nil
	}
	var out []string
	for key, value := range a {
		if other, there := b[key]; !there || other != value {
			out = append(out, key)
		}
	}
	for key := range b {
		if _, there := a[key]; !there {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

func (s *Service) openEnv(release api.Release) (env map[string]string, err error) {
	if len(release.Env) == 0 {
		return nil, nil
	}
	plain, err := s.opts.Open(release.Env)
	if err == nil {
		err = json.Unmarshal(plain, &env)
	}
	return env, err
}
