package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// MaxTreeBytes is the most that TEND_BUILD_MAX_SIZE may allow the files of a source tree. The tar of a tree, which is
// kept as a blob, has a little more.
const MaxTreeBytes = 16 << 30

// Build declares that the image is made from a source tree. The client packs the tree and sends it; what is stored
// beside the spec is the tree's digest (StampBuild).
type Build struct {
	// Context is the folder of the source, relative to the manifest's. The client alone reads it. Default ".".
	Context string `json:"context,omitempty" hcl:"context,optional"`
	// Dockerfile is a file of the tree, relative to Context. Default: Dockerfile where there is one, else one is written
	// for the language.
	Dockerfile string `json:"dockerfile,omitempty" hcl:"dockerfile,optional"`
	// Path is the package a Go program is built from, relative to its module. Default: the module's own folder.
	Path string `json:"path,omitempty" hcl:"path,optional"`
	// Args are the build's arguments (ARG): no place for secrets, because every user of the image can read them.
	Args map[string]string `json:"args,omitempty" hcl:"args,optional"`
	// Secrets are config keys whose values a step of the Dockerfile may mount (RUN --mount=type=secret,id=KEY). The
	// image doesn't hold them, and a changed value doesn't cause another build.
	Secrets []string   `json:"secrets,omitempty" hcl:"secrets,optional"`
	Lang    *BuildLang `json:"lang,omitempty" hcl:"lang,block"`
}

// BuildLang overrides what the source tree's language detection found.
type BuildLang struct {
	// Name is go, nodejs (or node, javascript, bun), python, ruby or rails. Default: what the tree's files say.
	Name string `json:"name,omitempty" hcl:"name,optional"`
	// Version is a tag of the language's base image. Default: what the tree's files say, else the newest.
	Version string `json:"version,omitempty" hcl:"version,optional"`
	// Entrypoint is a file that the language runs, or a line for the shell. Default: what is usual in the language.
	Entrypoint string `json:"entrypoint,omitempty" hcl:"entrypoint,optional"`
}

// StampBuild is a key of Metadata.Stamps: the tree an object with a build is made from, as its digest (sha256:<hex>).
// Behind a # stands a nonce where it was asked to be built again; it stays until another tree comes.
const StampBuild = "build"

// Labels on every image that was built here. Containers inherit an image's labels, so these names must differ from the
// labels of containers.
const (
	LabelBuildCluster = "tend.build.cluster"
	// LabelBuildOwner is the repository of the image: <scope>-<name>.
	LabelBuildOwner = "tend.build.owner"
	// LabelBuildScope is the scope of the object: a-b-c may be b-c of a, or c of a-b.
	LabelBuildScope = "tend.build.scope"
	LabelBuildID    = "tend.build.id"
	LabelBuildTree  = "tend.build.tree"
)

// ImageBuild is the recipe of an image. It is a value: the same tree built the same way has the same ID.
type ImageBuild struct {
	// ID names the image: 12 hex digits. They are those of the tree's digest where nothing else says how it is built.
	ID string `json:"id"`
	// Tree is the digest of the source tree's tar.
	Tree string `json:"tree"`
	// Nonce is set where it was asked to be built again; nothing of an earlier build is used then.
	Nonce string `json:"nonce,omitempty"`
	Build Build  `json:"build"`
	// Confined is the object's: see Object.Confined. It isn't part of the ID.
	Confined bool `json:"confined,omitempty"`
}

// NewImageBuild makes the build of an object's spec from its stamp; nil where no tree is known.
func NewImageBuild(stamp string, declared Build) *ImageBuild {
	digest, nonce, _ := strings.Cut(stamp, "#")
	if digest == "" {
		return nil
	}
	b := &ImageBuild{Tree: digest, Nonce: nonce, Build: declared}
	b.Build.Context = "" // where the source lay on the caller's machine
	if len(b.Build.Args) == 0 {
		b.Build.Args = nil
	}
	if len(b.Build.Secrets) == 0 {
		b.Build.Secrets = nil
	}
	if b.Build.Lang != nil && *b.Build.Lang == (BuildLang{}) {
		b.Build.Lang = nil
	}
	raw, _ := json.Marshal(b.Build) // texts alone: never fails
	hexes := strings.TrimPrefix(digest, "sha256:")
	if nonce != "" || string(raw) != "{}" {
		sum := sha256.Sum256([]byte(digest + "\n" + nonce + "\n" + string(raw)))
		hexes = hex.EncodeToString(sum[:])
	}
	b.ID = hexes[:min(12, len(hexes))]
	return b
}

// Name is the build's ID; that of no build is empty.
func (b *ImageBuild) Name() string {
	if b == nil {
		return ""
	}
	return b.ID
}

// Stamp returns the value of StampBuild for an object made by this build.
func (b ImageBuild) Stamp() string {
	if b.Nonce == "" {
		return b.Tree
	}
	return b.Tree + "#" + b.Nonce
}

// Image is the reference of the image of an object's build.
func (b ImageBuild) Image(owner Ref) string { return owner.AppID() + ":" + b.ID }

// WantedImage returns the image that the object's containers are made from: the declared one, or that of its build.
// Both are empty while no tree is known.
func (o Object) WantedImage(c Container) (image string, build *ImageBuild) {
	if c.Build == nil {
		return c.Image, nil
	}
	if build = NewImageBuild(o.Metadata.Stamps[StampBuild], *c.Build); build == nil {
		return "", nil
	}
	build.Confined = o.Confined()
	return build.Image(o.Ref()), build
}

// Tree is the digest of the tree the object was stamped with, without the nonce.
func (o Object) Tree() string {
	digest, _, _ := strings.Cut(o.Metadata.Stamps[StampBuild], "#")
	return digest
}

// BuildLine is one line of a build's output. The last one says how it ended.
type BuildLine struct {
	Text string `json:"text"`
}
