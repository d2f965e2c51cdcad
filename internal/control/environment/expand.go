package environment

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/store/records"
)

// expand replaces the references to other objects in the fields that may hold them (api.ResolvedFields). It does not
// write to declared.
func expand(s records.Snapshot, consumer api.Ref, declared api.Container) (api.Container, error) {
	spaces := reference.Spaces{api.SpaceRef: facts(s, consumer)}
	var faults []error
	fault := func(field string, err error) {
		if err != nil {
			faults = append(faults, &fieldError{field, err})
		}
	}
	list := func(field string, texts *[]string) {
		expanded, err := reference.ExpandAll(*texts, spaces)
		*texts = expanded
		fault(field, err)
	}
	table := func(field string, texts *map[string]string) {
		expanded := maps.Clone(*texts)
		for _, key := range slices.Sorted(maps.Keys(expanded)) {
			var err error
			expanded[key], err = reference.Expand(expanded[key], spaces)
			fault(field+"."+key, err)
		}
		*texts = expanded
	}
	table("env", &declared.Env)
	table("labels", &declared.Labels)
	list("command", &declared.Command)
	list("entrypoint", &declared.Entrypoint)
	list("extra_hosts", &declared.ExtraHosts)
	list("docker_options", &declared.DockerOptions)
	return declared, errors.Join(faults...)
}

// variables returns the declared variables with every reference replaced, including those to config values. Facts and
// values are inserted in one pass, so that neither is taken for a reference. Errors contain no values.
func variables(s records.Snapshot, ref api.Ref, declared api.Container,
	values func(env.Bucket) (map[string]string, error)) (map[string]string, error) {
	out := maps.Clone(declared.Env)
	missing := map[string]string{}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(declared.Env)) {
		spaces := reference.Spaces{api.SpaceRef: facts(s, ref), api.SpaceConfig: func(r api.Reference) (string, error) {
			buckets, key := env.OfReference(ref, declared.EnvFrom, r)
			for _, bucket := range slices.Backward(buckets) {
				values, err := values(bucket)
				if err != nil {
					return "", err
				}
				if value, found := values[key]; found {
					return value, nil
				}
			}
			nearest := buckets[len(buckets)-1]
			missing[fmt.Sprintf("env.%s: no value for %s", name, key)] = setSecret(nearest, key)
			return "", nil
		}}
		value, err := reference.Expand(declared.Env[name], spaces)
		out[name], faults = value, append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, &missingValuesError{missing}
	}
	return out, nil
}
