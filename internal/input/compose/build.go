package compose

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// source converts the source of the image: an image's name, or the folder that the service is built from.
func (c *converter) source(u *unit, out *api.Container) {
	r, at := c.report, u.at+".build"
	r.carry(u.at + ".image")
	switch {
	case u.Build == nil:
		out.Image = u.Image
		if name, other := c.builderOf(u.Image); other != nil {
			out.Image, out.Build = "", c.folder(other)
			r.note(u.at+".image", "%s builds it: here it is built from the same folder for both", name)
		}
	case remote(u.Build.Context) || u.Build.DockerfileInline != "":
		r.lost(at, buildWeight(u),
			"Tend builds from a folder with a Dockerfile; build this image and push it, and name it in image")
		out.Image = u.Image
		if u.Image == "" {
			out.Image = c.project.Name + "-" + strings.ToLower(lastKey(u.at))
			r.note(u.at, "image is %s, as `docker compose build` calls it", out.Image)
		}
	default:
		out.Build = c.build(u)
		if u.Image != "" {
			r.note(u.at+".image", "is not used: Tend names what it builds")
		}
	}
}

// buildWeight returns the weight of a build that isn't converted: it matters less if an image is named, since that can
// be pulled.
func buildWeight(u *unit) Weight {
	if u.Image != "" {
		return Changes
	}
	return Breaks
}

// builderOf returns the service that builds an image under the name by which another one runs it. Tend gives no image
// that name, so the image of a registry would be pulled by it, or none.
func (c *converter) builderOf(image string) (name string, build *types.BuildConfig) {
	tagged := func(image string) string {
		if strings.LastIndexByte(image, ':') <= strings.LastIndexByte(image, '/') {
			image += ":latest"
		}
		return image
	}
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		s := c.project.Services[name]
		if s.Build == nil || remote(s.Build.Context) || s.Build.DockerfileInline != "" {
			continue
		}
		called := append([]string{cmp.Or(s.Image, c.project.Name+"-"+name)}, s.Build.Tags...)
		if slices.ContainsFunc(called, func(other string) bool { return tagged(other) == tagged(image) }) {
			return name, s.Build
		}
	}
	return "", nil
}

// build converts the keys that Tend has too; the report lists the others.
func (c *converter) build(u *unit) *api.Build {
	r, at := c.report, u.at+".build"
	r.carry(at, at+".context", at+".dockerfile", at+".args")
	for name, value := range u.Build.Args {
		r.carry(join(at+".args", name))
		if value == nil {
			r.lost(join(at+".args", name), Changes, "it takes its value from the environment, which has no %s", name)
		}
	}
	return c.folder(u.Build)
}

// folder returns what is built, and from which folder.
func (c *converter) folder(b *types.BuildConfig) *api.Build {
	out := &api.Build{Context: c.relative(b.Context)}
	if b.Dockerfile != "Dockerfile" {
		out.Dockerfile = b.Dockerfile
	}
	for name, value := range b.Args {
		if value == nil {
			continue
		}
		if out.Args == nil {
			out.Args = map[string]string{}
		}
		out.Args[name] = *value
	}
	return out
}

// remote reports whether a context is a repository or an archive, which Tend does not fetch.
func remote(context string) bool {
	return strings.Contains(context, "://") || strings.HasPrefix(context, "git@") ||
		strings.HasPrefix(context, "github.com/")
}

// relative returns a path of this machine as the manifest names it: relative to the manifest's folder, so that the two
// can move together.
func (c *converter) relative(path string) string { return relativeTo(c.beside, path) }

// relativeTo returns an absolute path relative to a folder. Without a folder it returns the path unchanged.
func relativeTo(folder, path string) string {
	if folder == "" || !filepath.IsAbs(path) {
		return path
	}
	if out, err := filepath.Rel(folder, path); err == nil {
		return filepath.ToSlash(out)
	}
	return path
}
