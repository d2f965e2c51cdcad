package broker

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// TreesError is the result of an apply if objects of macros are built from source that only the client has.
type TreesError struct {
	Builds []api.MacroBuild
}

func (e *TreesError) Error() string {
	names := make([]string, len(e.Builds))
	for i, build := range e.Builds {
		names[i] = build.Object.String()
	}
	return fmt.Sprintf("objects of macros are built from source, which was not sent: %s", strings.Join(names, ", "))
}

// stampTrees stamps the objects of a macro with the source trees that the macro's stamps name, and records the built
// objects without one.
func (e *expanding) stampTrees(macro api.Object, all []made) {
	for i := range all {
		object := &all[i].object
		if !object.Kind.HasContainers() {
			continue
		}
		spec, err := api.DecodeWorkload(object.Kind, object.Spec)
		if err != nil || spec.Build == nil {
			continue // validation reports the fault
		}
		if tree := macro.Metadata.Stamps[api.StampBuildOf+object.Ref().String()]; tree != "" {
			object.Metadata.Stamps = map[string]string{api.StampBuild: tree}
			continue
		}
		e.trees = append(e.trees, api.MacroBuild{Macro: macro.Ref(), Object: object.Ref(), Build: *spec.Build})
	}
}
