package recipe

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// The languages for which a Dockerfile is generated.
const (
	Go     = "go"
	NodeJS = "nodejs"
	Python = "python"
	Rails  = "rails"
	Ruby   = "ruby"
)

// Docker is the language of a tree with a Dockerfile of its own.
const Docker = "docker"

// Recipe describes how a tree is built.
type Recipe struct {
	// Language is the detected or declared language.
	Language string
	// Version of the language, if the tree or the manifest names one.
	Version string
	// Folder is the folder of the source in the tree: "." or a path.
	Folder string
	// Target is the package of a Go module to build: a folder of the module, or "." for its root.
	Target string
	// Dockerfile is the name of the tree's Dockerfile, or empty if Text holds a generated one.
	Dockerfile string
	Text       string
	// Bases are the images that the stages build on or copy from, except those that depend on a stage's argument.
	Bases []string
	// Unclear are base images, as they are written, that an engine may resolve to another image than the one in Bases.
	Unclear []string
	// BuildKit is the reason why only BuildKit can build it; nil if the classic builder can too.
	BuildKit *BuildKitError
	// Why is a sentence with the reason for this decision.
	Why string
}

// UndecidedError means that the tree doesn't show how to build it.
type UndecidedError struct {
	Why string
	// Next is the next step; by default, to declare how it is built.
	Next string
}

func (e *UndecidedError) Error() string {
	return e.Why + ": " + either(e.Next,
		"put a Dockerfile into the folder, or name the language (build { lang { name = … } })")
}

// detector recognizes a language by a file.
type detector struct {
	language string
	markers  []string
}

// detectors are tried in this order. Rails comes before Node.js, and Ruby last: a Rails application has a package.json
// and a Gemfile too.
var detectors = []detector{
	{Go, []string{"go.mod"}},
	{Rails, []string{"config/application.rb"}},
	{NodeJS, []string{"package.json"}},
	{Python, []string{"requirements.txt", "pyproject.toml", "Pipfile"}},
	{Ruby, []string{"Gemfile"}},
}

// maxDepth is the number of levels of folders searched for a language.
const maxDepth = 2

// Decide returns how to build a tree. A Dockerfile comes first, then what the manifest declares, then what the tree's
// files show. registry is put before the names of base images in a generated Dockerfile: "" for none, or
// "mirror.local:5000/".
func Decide(tree fs.FS, build api.Build, registry string) (Recipe, error) {
	if recipe, found, err := ownDockerfile(tree, build); found || err != nil {
		return recipe, err
	}
	if len(build.Secrets) > 0 {
		return Recipe{}, &UndecidedError{Why: "build.secrets is for a Dockerfile of your own, and the folder has none",
			Next: "write one with RUN --mount=type=secret,id=…, or leave secrets out"}
	}
	lang := api.BuildLang{}
	if build.Lang != nil {
		lang = *build.Lang
	}
	recipe, err := language(tree, lang.Name)
	if err != nil {
		return Recipe{}, err
	}
	source, err := fs.Sub(tree, recipe.Folder)
	if err != nil {
		return Recipe{}, err
	}
	if lang.Name == "javascript" || lang.Name == "node" {
		lang.Name = NodeJS
	}
	s := &contents{FS: source, build: build, lang: lang, registry: registry}
	recipe.Version = lang.Version
	if recipe.Version == "" {
		recipe.Version = s.version(recipe.Language)
	}
	if recipe.Language == Go {
		if recipe.Target, err = s.mainPackage(); err != nil {
			return Recipe{}, err
		}
	}
	recipe.Text = write(s, tree, recipe)
	recipe.Bases, recipe.Unclear = bases(recipe.Text, build)
	return recipe, nil
}

// ownDockerfile returns the recipe of the Dockerfile that the manifest names, or of the tree's.
func ownDockerfile(tree fs.FS, build api.Build) (Recipe, bool, error) {
	if build.Dockerfile == "" {
		if !isFile(tree, "Dockerfile") {
			return Recipe{}, false, nil
		}
		return own(tree, build, "Dockerfile", "the folder has a Dockerfile"), true, nil
	}
	name := path.Clean(build.Dockerfile)
	if !fs.ValidPath(name) || !isFile(tree, name) {
		return Recipe{}, false,
			fmt.Errorf("there is no file %s in the folder: correct build.dockerfile, which is relative to build.context",
				build.Dockerfile)
	}
	return own(tree, build, name, "the manifest names "+name), true, nil
}

// language returns the declared language of a tree, else the language of the file closest to the root.
func language(tree fs.FS, declared string) (Recipe, error) {
	asked := detectors
	if declared != "" {
		asked = nil
		for _, d := range detectors {
			if d.language == declared || d.language == NodeJS &&
				slices.Contains([]string{"node", "javascript", "bun"}, declared) {
				asked = []detector{d}
			}
		}
		if asked == nil {
			return Recipe{}, &UndecidedError{Why: fmt.Sprintf("%q is not a language that a Dockerfile is written for (%s)",
				declared, languages())}
		}
	}
	for depth := range maxDepth + 1 {
		for _, folder := range folders(tree, depth) {
			for _, d := range asked {
				for _, marker := range d.markers {
					if isFile(tree, path.Join(folder, marker)) {
						return Recipe{Language: d.language, Folder: folder, Why: path.Join(folder, marker) + " says so"}, nil
					}
				}
			}
		}
	}
	if declared != "" {
		return Recipe{Language: asked[0].language, Folder: ".", Why: "the manifest says so"}, nil
	}
	return Recipe{}, &UndecidedError{Why: "the folder has no Dockerfile and is in no language that is known (" +
		languages() + ")"}
}

func languages() string {
	var out []string
	for _, d := range detectors {
		out = append(out, d.language)
	}
	return strings.Join(out, ", ")
}

// folders returns the folders at a depth, sorted by name. It skips hidden folders and those of dependencies.
func folders(tree fs.FS, depth int) []string {
	if depth == 0 {
		return []string{"."}
	}
	var out []string
	for _, parent := range folders(tree, depth-1) {
		entries, err := fs.ReadDir(tree, parent)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			name := entry.Name()
			if entry.IsDir() && !strings.HasPrefix(name, ".") && name != "node_modules" &&
				name != "vendor" && name != "testdata" {
				out = append(out, path.Join(parent, name))
			}
		}
	}
	return out
}

func isFile(tree fs.FS, name string) bool {
	info, err := fs.Stat(tree, name)
	return err == nil && info.Mode().IsRegular()
}
