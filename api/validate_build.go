package api

import (
	"maps"
	"path"
	"slices"
	"strings"

	"tend.dev/tend/api/pattern"
)

// buildLanguages are the names build.lang.name may have.
var buildLanguages = []string{"go", "nodejs", "node", "javascript", "bun", "python", "ruby", "rails"}

var (
	argumentName = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	sourcePath   = pattern.Lazy(`^[A-Za-z0-9_.@+/-]+$`)
	langVersion  = pattern.Lazy(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)
	treeDigest   = pattern.Lazy(`^sha256:[0-9a-f]{64}$`)
)

// maxBuildArg bounds the value of one argument.
const maxBuildArg = 32 << 10

// build checks how an image is made.
func (c *checker) build(b *Build) {
	if b == nil {
		return
	}
	if strings.ContainsAny(b.Context, "\x00\n") {
		c.add("build.context", "%q is not a folder", b.Context)
	}
	c.inTree("build.dockerfile", b.Dockerfile)
	c.inTree("build.path", b.Path)
	for _, name := range slices.Sorted(maps.Keys(b.Args)) {
		switch value := b.Args[name]; {
		case !argumentName().MatchString(name):
			c.add(key("build.args", name), "an argument's name has letters, digits and _, and begins with no digit")
		case len(value) > maxBuildArg || strings.ContainsAny(value, "\x00\n"):
			c.add(key("build.args", name), "is one line of at most %d bytes", maxBuildArg)
		}
	}
	c.each("build.secrets", b.Secrets, CheckConfigKey)
	if b.Lang == nil {
		return
	}
	c.oneOf("build.lang.name", b.Lang.Name, buildLanguages...)
	if b.Lang.Version != "" && !langVersion().MatchString(b.Lang.Version) {
		c.add("build.lang.version", "%q is not a version such as 1.26 or 22", b.Lang.Version)
	}
	if len(b.Lang.Entrypoint) > maxBuildArg || strings.ContainsAny(b.Lang.Entrypoint, "\x00\n") {
		c.add("build.lang.entrypoint", "is one line: a file, or a command for the shell")
	}
}

// inTree checks the name of something in a source tree.
func (c *checker) inTree(field, name string) {
	switch cleaned := path.Clean(name); {
	case name == "":
	case path.IsAbs(name) || cleaned == ".." || strings.HasPrefix(cleaned, "../"):
		c.add(field, "%q leads out of the source folder; it is relative to build.context", name)
	case !sourcePath().MatchString(name):
		c.add(field, "%q may hold letters, digits and . _ @ + - /", name)
	}
}

// CheckTree checks the digest of a source tree.
func CheckTree(digest string) bool { return treeDigest().MatchString(digest) }
