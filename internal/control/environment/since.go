package environment

import (
	"encoding/json"
	"errors"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/store/records"
)

// Since names the config values that changed between a release and now, as an object with that release's spec would
// have them, and returns the hash of the environment of now. If that can't be built, the error says why, and the hash
// is Unbuilt. If the release's own environment can't be read, the hash is empty.
func (e *Environments) Since(s records.Snapshot, object api.Object, release api.Release) (api.ConfigDifferences, string,
	error) {
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return nil, "", err
	}
	then, unreadable := e.taken(release)
	readable := unreadable == nil
	_, merged, err := e.Resolve(s, object.Ref(), spec.Container)
	if err != nil {
		merged = nil
	}
	hash, hashErr := e.Hash(merged) // Unbuilt with an error
	switch {
	case err != nil && !readable, hashErr != nil:
		return nil, "", errors.Join(err, hashErr)
	case !readable:
		return nil, "", nil
	case err != nil:
		return nil, hash, err
	}
	return env.Differences(env.Taken{Declared: spec.Container, Values: then.Values},
		env.Taken{Declared: spec.Container, Values: merged}), hash, nil
}

// Unbuilt is the hash that stands for an environment that can't be built.
func (e *Environments) Unbuilt() (string, error) { return e.Hash(nil) }

// Between names the config values that differ between two releases.
func (e *Environments) Between(earlier, later api.Release) (api.ConfigDifferences, error) {
	if earlier.EnvHash == later.EnvHash {
		return nil, nil
	}
	then, err := e.taken(earlier)
	if err != nil {
		return nil, err
	}
	now, err := e.taken(later)
	if err != nil {
		return nil, err
	}
	return env.Differences(then, now), nil
}

// taken decrypts the environment of a release.
func (e *Environments) taken(release api.Release) (env.Taken, error) {
	spec, err := api.DecodeWorkload(release.Kind, release.Spec)
	if err != nil || len(release.Env) == 0 {
		return env.Taken{Declared: spec.Container}, err
	}
	plain, err := e.sealer.Decrypt(release.Env)
	if err != nil {
		return env.Taken{}, fmt.Errorf("decrypt the environment of %s: %w", release.ID, err)
	}
	taken := env.Taken{Declared: spec.Container}
	if err := json.Unmarshal(plain, &taken.Values); err != nil {
		return env.Taken{}, fmt.Errorf("read the environment of %s: %w", release.ID, err)
	}
	return taken, nil
}
