package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Source is the folder an object is built from.
type Source struct {
	Object api.Ref
	// Folder is build.context, as resolved by sourceFolder.
	Folder string
	Build  api.Build
}

// addSource records the folder of an object's source. An object that already names its tree, as get prints it, has no
// folder here.
func (l *loader) addSource(d *draft) {
	if !d.object.Kind.HasContainers() || d.object.Tree() != "" {
		return
	}
	spec, err := api.DecodeWorkload(d.object.Kind, d.object.Spec)
	if err != nil || spec.Build == nil {
		return
	}
	folder, hint := sourceFolder(d.src.dir, spec.Build.Context)
	if hint != "" {
		l.result.Warnings = append(l.result.Warnings, d.object.Ref().String()+": build.context: "+hint)
	}
	if d.assumed {
		l.result.Warnings = append(l.result.Warnings,
			fmt.Sprintf("%s: neither image nor build is given, so it is built from %s; write build {} to say so",
				d.object.Ref(), folder))
	}
	l.result.Builds = append(l.result.Builds, Source{Object: d.object.Ref(), Folder: folder, Build: *spec.Build})
}

// sourceFolder returns the folder that a build's context names. It is relative to the manifest's folder, and for a
// manifest in a project's .tend or .voodu to the project. If that folder doesn't exist, one in the working directory is
// used, as the predecessor did; hint names it.
func sourceFolder(dir, context string) (folder, hint string) {
	if filepath.IsAbs(context) {
		return context, ""
	}
	beside := filepath.Join(dir, context)
	if project, ok := projectOf(dir); ok && !leadsUp(context) {
		if folder := filepath.Join(project, context); isDir(folder) || !isDir(beside) {
			return folder, ""
		}
		return beside, ""
	}
	if here := filepath.Clean(context); !isDir(beside) && isDir(here) {
		return here,
			fmt.Sprintf("there is no %s, so %s of the working directory is taken; write the path from the manifest's folder",
				beside, here)
	}
	return beside, ""
}

// projectOf returns the folder above the .tend or .voodu folder that holds a manifest.
func projectOf(dir string) (project string, ok bool) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for up := "."; ; absolute, up = filepath.Dir(absolute), filepath.Join(up, "..") {
		if slices.Contains(manifestFolders, filepath.Base(absolute)) {
			return filepath.Join(dir, up, ".."), true
		}
		if absolute == filepath.Dir(absolute) {
			return "", false
		}
	}
}

// leadsUp reports whether the context begins with .. and so leaves the manifest's folder: it is relative to that folder
// then.
func leadsUp(context string) bool {
	return strings.HasPrefix(filepath.ToSlash(filepath.Clean(context))+"/", "../")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
