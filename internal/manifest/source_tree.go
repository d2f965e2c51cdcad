package manifest

import (
	"path/filepath"

	"tend.dev/tend/api"
)

// Source is the folder an object is built from.
type Source struct {
	Object api.Ref
	// Folder is build.context, taken from where the manifest lies.
	Folder string
	Build  api.Build
}

// addSource notes where the source of an object lies. One that names its tree already (as get prints it) has it elsewhere.
func (l *loader) addSource(d *draft) {
	if !d.object.Kind.HasContainers() || d.object.Tree() != "" {
		return
	}
	spec, err := api.DecodeWorkload(d.object.Kind, d.object.Spec)
	if err != nil || spec.Build == nil {
		return
	}
	folder := spec.Build.Context
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(d.src.dir, folder)
	}
	l.result.Builds = append(l.result.Builds, Source{Object: d.object.Ref(), Folder: folder, Build: *spec.Build})
}
