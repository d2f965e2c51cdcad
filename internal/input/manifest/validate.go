package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
)

// Validate returns every error in an object by itself: those of api.ValidateObject and of its docker_options.
func Validate(o api.Object) []api.FieldError {
	found := api.ValidateObject(o)
	if !o.Kind.HasContainers() {
		return found
	}
	spec, err := api.DecodeWorkload(o.Kind, o.Spec)
	if err != nil {
		return found // reported already
	}
	if o.Kind == api.KindCronJob {
		found = append(found, validateSchedule(o)...)
	}
	found = append(found, validateOptions(o.Ref(), "docker_options", spec.DeploymentSpec)...)
	for i, init := range spec.Inits {
		found = append(found, validateOptions(o.Ref(), fmt.Sprintf("inits[%d].docker_options", i), spec.ForInit(init))...)
	}
	return found
}

func validateOptions(ref api.Ref, field string, spec api.DeploymentSpec) []api.FieldError {
	if len(spec.DockerOptions) == 0 {
		return nil
	}
	options, err := dockerflags.Of(spec)
	if err != nil {
		return []api.FieldError{{Object: ref.String(), Field: field, Detail: err.Error()}}
	}
	var found []api.FieldError
	for _, target := range writableAssets(options) {
		found = append(found, api.FieldError{Object: ref.String(), Field: field,
			Detail: "the file of an asset at " + target + " is shared by all who use it: mount it read-only (:ro, or readonly)"})
	}
	for _, conflict := range dockerflags.Conflicts(spec, options) {
		if flag, ok := errors.AsType[*dockerflags.FlagError](conflict); ok {
			found = append(found, api.FieldError{Object: ref.String(), Field: field, Detail: flag.Error()})
		}
	}
	return found
}

// writableAssets returns the targets of files of assets that flags mount writable.
func writableAssets(options dockerflags.Options) []string {
	var out []string
	for _, bind := range options.Binds {
		volume, err := api.ParseVolume(bind)
		if err == nil && strings.HasPrefix(volume.Source, api.AssetStandIn) &&
			!slices.Contains(strings.Split(volume.Mode, ","), "ro") {
			out = append(out, volume.Target)
		}
	}
	for _, mount := range options.Mounts {
		if strings.HasPrefix(mount.Source, api.AssetStandIn) && !mount.ReadOnly {
			out = append(out, mount.Target)
		}
	}
	return out
}
