package builder

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/build/recipe"
	"tend.dev/tend/internal/node/runtime"
)

// writtenDockerfile is the name of a Dockerfile that was written for a tree. It belongs neither to the tree nor to its
// digest.
const writtenDockerfile = ".tend.Dockerfile"

// specOf returns the runtime's spec of a build, except for where the source is.
func specOf(owner api.Ref, build api.ImageBuild, how recipe.Recipe) runtime.BuildSpec {
	spec := runtime.BuildSpec{
		Dockerfile: how.Dockerfile, Bases: how.Bases,
		Args: build.Build.Args, NoCache: build.Nonce != "", Confined: build.Confined,
		Tags: []string{build.Image(owner)}, // the agent names it latest, unless the engine has something else of that name
		Labels: map[string]string{
			api.LabelBuildOwner: owner.AppID(), api.LabelBuildScope: owner.Scope, api.LabelBuildID: build.ID,
			api.LabelBuildTree: build.Tree,
		},
	}
	if how.BuildKit != nil {
		spec.BuildKit = how.BuildKit
	}
	if how.Dockerfile == "" {
		spec.Dockerfile = writtenDockerfile
	}
	return spec
}

// withDockerfile returns the tar of a tree with the Dockerfile that was written for it, if one was. It comes first, so
// that the tree after it needn't be read.
func withDockerfile(from io.Reader, how recipe.Recipe) (io.Reader, error) {
	if how.Dockerfile != "" {
		return from, nil
	}
	var first bytes.Buffer
	writer := tar.NewWriter(&first)
	header := &tar.Header{Name: writtenDockerfile, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(how.Text)),
		ModTime: time.Unix(0, 0)}
	if err := writer.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(writer, how.Text); err != nil {
		return nil, err
	}
	if err := writer.Flush(); err != nil { // not closed: the tree goes on where this ends
		return nil, err
	}
	return io.MultiReader(&first, from), nil
}

// announcement returns a line on how a tree is built.
func announcement(how recipe.Recipe) string {
	if how.Dockerfile != "" {
		return fmt.Sprintf("building with %s: %s", how.Dockerfile, how.Why)
	}
	version := ""
	if how.Version != "" {
		version = " " + how.Version
	}
	target := ""
	if how.Target != "" && how.Target != "." {
		target = ", " + how.Target
	}
	return fmt.Sprintf("building as %s%s%s: %s", how.Language, version, target, how.Why)
}
