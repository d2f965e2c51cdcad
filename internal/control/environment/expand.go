package environment

import (
	"errors"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/reference"
	"tend.dev/tend/internal/layout"
)

// expand replaces the references to other objects in the fields that may hold them (api.ResolvedFields). What is
// declared is not written to.
func expand(s layout.Snapshot, consumer api.Ref, declared api.Container) (api.Container, error) {
	spaces := reference.Spaces{api.SpaceRef: facts(s, consumer)}
	var faults []error
	list := func(texts *[]string) {
		expanded, err := reference.ExpandAll(*texts, spaces)
		*texts = expanded
		faults = append(faults, err)
	}
	table := func(texts *map[string]string) {
		expanded, err := reference.ExpandMap(*texts, spaces)
		*texts = expanded
		faults = append(faults, err)
	}
	table(&declared.Env)
	table(&declared.Labels)
	list(&declared.Command)
	list(&declared.Entrypoint)
	list(&declared.ExtraHosts)
	list(&declared.DockerOptions)
	return declared, errors.Join(faults...)
}
