package verbs

import (
	"context"
	"maps"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/store/records"
)

const (
	nextTree = "apply with `tend apply` from where the source is; other clients PUT the tree's tar to /v1/blobs/<digest> and " +
		"name the digest in metadata.stamps.build"
	nextTreeGone = "send it to /v1/blobs/<digest> first"
)

// holdTrees checks that the source trees of the objects are stored, and keeps them until the objects are stored.
func (s *Service) holdTrees(ctx context.Context, objects []api.Object, files *possession, dry bool) error {
	found := &faults{}
	for _, object := range objects {
		if tree := object.Tree(); tree != "" {
			if err := s.holdTree(ctx, files, object.Ref(), tree, dry, found); err != nil {
				return err
			}
		}
	}
	return found.err("a source tree is missing; nothing was stored")
}

func (s *Service) holdTree(
	ctx context.Context, files *possession, ref api.Ref, tree string, dry bool, found *faults,
) error {
	switch {
	case !api.CheckTree(tree):
		found.add(Invalid, ref, "build", "write sha256: and 64 hex digits", "%.80q is not the digest of a source tree",
			tree)
		return nil
	case dry: // it is sent when it is needed
		return nil
	case s.opts.Assets == nil:
		found.add(Invalid, ref, "build", "start the server with a folder for its files", "this server keeps no source")
		return nil
	}
	there, err := files.hasFile(ctx, tree, false)
	if err == nil && !there {
		found.add(Invalid, ref, "build", nextTreeGone, "its source %s is not here", tree)
	}
	return err
}

// stampBuilds stamps each object that is built with its source tree.
func (d *applyDecision) stampBuilds(snap records.Snapshot, opts ApplyOptions, now time.Time, found *faults) {
	for i := range d.placed {
		d.placed[i].stampBuild(snap, opts.Force, opts.confined(), now, found)
	}
}

// stampBuild stamps an object with the tree it is built from. confined: no admin sends it, and the object is confined
// until an admin sends one.
func (p *placed) stampBuild(snap records.Snapshot, force, confined bool, now time.Time, found *faults) {
	build, built := buildOf(p.next)
	before := p.next.Metadata.Stamps[api.StampBuild]
	if !built {
		if before != "" {
			p.next.Metadata.Stamps = without(p.next.Metadata.Stamps, api.StampBuild)
		}
		return
	}
	tree := p.tree
	if tree == "" {
		tree = p.next.Tree() // unchanged
	}
	if tree == "" {
		found.add(Invalid, p.next.Ref(), "build", nextTree, "its source was not sent")
		return
	}
	stamps := with(p.next.Metadata.Stamps, api.StampBuild, stampOfTree(before, tree, force, now))
	if confined && p.next.Tree() != tree || p.tree == "" && p.stored.Exists() && p.stored.Value.Confined() {
		stamps[api.StampConfined] = "true"
	}
	if p.stored.Exists() && p.next.Tree() != tree {
		p.result.Changes = append(p.result.Changes,
			api.FieldChange{Path: "build.source", Old: text(orNil(p.next.Tree())), New: text(tree)})
		unpin(stamps) // it asks for something new
	}
	p.next.Metadata.Stamps = stamps
	wanted := api.NewImageBuild(stamps[api.StampBuild], build)
	p.result.Build = wanted.ID
	if buildFailed(snap, p.next.Ref(), *wanted) {
		stamps[api.StampPull] = api.NewNonce(now) // applying the same again can only mean to retry the build
	}
}

// stampOfTree returns the stamp of a tree. It is the stored one, unless the tree differs or force asks for a new build.
func stampOfTree(before, tree string, force bool, now time.Time) string {
	was := api.Object{Metadata: api.Metadata{Stamps: map[string]string{api.StampBuild: before}}}
	switch {
	case force:
		return tree + "#" + api.NewNonce(now)
	case was.Tree() == tree:
		return before
	}
	return tree
}

// buildFailed reports whether the last report of a node on a build is that it failed.
func buildFailed(snap records.Snapshot, ref api.Ref, build api.ImageBuild) bool {
	return slices.ContainsFunc(snap.ImageStatuses(ref), func(status records.Read[api.ImageStatus]) bool {
		return status.Value.State == api.ImageFailed && status.Value.Image == build.Image(ref)
	})
}

// buildOf returns how an object says it is built.
func buildOf(object api.Object) (api.Build, bool) {
	if !object.Kind.HasContainers() {
		return api.Build{}, false
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil || spec.Build == nil {
		return api.Build{}, false // validation reports what can't be read
	}
	return *spec.Build, true
}

type buildInput struct {
	Tree  string `query:"tree" required:"true"`
	Force bool   `query:"force"`
}

var _ = Declare(verb.Verb{
	Name: "build", Summary: "Have an object built from a source that was sent as a blob",
	Rule: access.Deployers("build"),
}, func(ctx context.Context, s *Service, r Request[buildInput]) (api.VerbResult, error) {
	return s.SetBuild(ctx, r.Target, r.In.Tree, r.In.Force, r.Actor)
})

// SetBuild sets the source tree that a stored object is built from. The server must have the tree already. With force,
// the object is built again even if the tree is the same.
func (s *Service) SetBuild(
	ctx context.Context, target Target, tree string, force bool, actor string,
) (api.VerbResult, error) {
	found, files := &faults{}, &possession{service: s, rights: RightsOf(ctx)}
	if err := s.holdTree(ctx, files, api.Ref{Kind: target.Kind, Scope: target.Scope, Name: target.Name},
		tree, false, found); err != nil {
		return api.VerbResult{}, err
	}
	if err := found.err("the source tree is missing"); err != nil {
		return api.VerbResult{}, err
	}
	return s.verb(ctx, "build", FieldManager{Actor: actor}, func(snap records.Snapshot) (*verbDecision, error) {
		object, err := target.findLive(snap)
		if err != nil {
			return nil, err
		}
		if _, built := buildOf(*object.Value); !built {
			return nil, invalid("apply a manifest with build { } first", "%s is not built from source",
				object.Value.Ref())
		}
		if err := s.checkProgram(ctx, snap, *object.Value, *object.Value); err != nil {
			return nil, err
		}
		p := placed{stored: object, next: *object.Value, tree: tree}
		p.stampBuild(snap, force, !RightsOf(ctx).Trusted, s.opts.Now(), found)
		decided := unchanged("build", object)
		decided.result.Build = p.result.Build
		if !maps.Equal(object.Value.Metadata.Stamps, p.next.Metadata.Stamps) {
			p.next.Metadata.Change = &api.Change{Verb: "build", Actor: actor}
			write(decided, object, p.next, s.opts.Now())
		}
		return decided, nil
	})
}

// with returns a copy of stamps with one of them set; without returns one with it removed.
func with(stamps map[string]string, name, value string) map[string]string {
	out := maps.Clone(stamps)
	if out == nil {
		out = map[string]string{}
	}
	out[name] = value
	return out
}

func without(stamps map[string]string, name string) map[string]string {
	out := maps.Clone(stamps)
	delete(out, name)
	if len(out) == 0 {
		return nil
	}
	return out
}
