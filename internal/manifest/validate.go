package manifest

import (
	"errors"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
)

// Validate says everything that is wrong with an object by itself: api.ValidateObject and its docker_options.
func Validate(o api.Object) []api.FieldError {
	found := api.ValidateObject(o)
	if o.Kind != api.KindDeployment {
		return found
	}
	spec, err := api.DecodeDeployment(o.Spec)
	if err != nil {
		return found // told already
	}
	return append(found, validateOptions(o.Ref(), spec)...)
}

func validateOptions(ref api.Ref, spec api.DeploymentSpec) []api.FieldError {
	const field = "docker_options"
	if len(spec.DockerOptions) == 0 {
		return nil
	}
	options, err := dockerflags.Parse(spec.DockerOptions)
	if err != nil {
		return []api.FieldError{{Object: ref.String(), Field: field, Detail: err.Error()}}
	}
	var found []api.FieldError
	for _, conflict := range dockerflags.Conflicts(spec, options) {
		var flag *dockerflags.FlagError
		if errors.As(conflict, &flag) {
			found = append(found, api.FieldError{Object: ref.String(), Field: field, Detail: flag.Error()})
		}
	}
	return found
}
