package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/input/manifest"
)

// applier sends an apply.
type applier func(ctx context.Context, c *client.Client, request api.ApplyRequest) (api.ApplyResult, error)

// applyOnce sends it once.
func applyOnce(ctx context.Context, c *client.Client, request api.ApplyRequest) (api.ApplyResult, error) {
	return c.Apply(ctx, request)
}

// applyBuilt applies. If the objects that macros stand for are built from source, the server answers so, because it
// knows that only after it called their plugins. applyBuilt then packs the source, sends it unless it is a dry run, and
// applies again.
func (a *app) applyBuilt(
	ctx context.Context, c *client.Client, apply applier, request api.ApplyRequest, loaded manifest.Result,
) (api.ApplyResult, error) {
	result, err := apply(ctx, c, request)
	var problem *api.Problem
	if !errors.As(err, &problem) || problem.Title != api.TreesWanted || len(problem.Builds) == 0 {
		return result, err
	}
	of := manifest.Result{Objects: slices.Clone(request.Objects)}
	for _, wanted := range problem.Builds {
		source, err := sourceOf(wanted, loaded)
		if err != nil {
			return result, err
		}
		of.Builds = append(of.Builds, source)
	}
	trees, err := a.packTrees(ctx, of, !request.DryRun)
	if err != nil {
		return result, err
	}
	defer dropTrees(trees)
	for i, tree := range trees {
		stampMacro(of.Objects, problem.Builds[i], tree.Digest)
	}
	if !request.DryRun {
		if err := a.sendTrees(ctx, c, trees); err != nil {
			return result, err
		}
	}
	request.Objects = of.Objects
	return apply(ctx, c, request)
}

// isMissingPlugin reports whether a dry run could not ask a plugin that is not installed.
func isMissingPlugin(err error) bool {
	var problem *api.Problem
	return errors.As(err, &problem) && problem.Title == "PluginNotFound"
}

// stampMacro records the tree of an object in the stamps of the macro it comes from.
func stampMacro(objects []api.Object, wanted api.MacroBuild, digest string) {
	for i := range objects {
		if objects[i].Ref() != wanted.Macro {
			continue
		}
		stamps := objects[i].Metadata.CopyStamps()
		stamps[api.StampBuildOf+wanted.Object.String()] = digest
		objects[i].Metadata.Stamps = stamps
	}
}

// sourceOf returns the folder an object of a macro is built from. A plugin may name what lies below the macro's
// manifest; what lies elsewhere has to be named by the macro itself, for it is read here and sent away.
func sourceOf(wanted api.MacroBuild, loaded manifest.Result) (manifest.Source, error) {
	var macro *api.Object
	for i := range loaded.Objects {
		if loaded.Objects[i].Ref() == wanted.Macro {
			macro = &loaded.Objects[i]
		}
	}
	if macro == nil {
		return manifest.Source{}, fmt.Errorf("a plugin wants to build %s from the source of %s, which isn't in these files\n"+
			"  report it to the plugin's author", wanted.Object, wanted.Macro)
	}
	base := "."
	if origin := loaded.Origin[wanted.Macro]; origin.File != "" && origin.File != "<stdin>" {
		base = filepath.Dir(origin.File)
	}
	folder := wanted.Build.Context
	folder = cmp.Or(folder, ".")
	if !below(base, folder) && !namesContext(macro.Spec, folder) {
		return manifest.Source{}, fmt.Errorf("%s: its plugin builds %s from %s, which is outside of the manifest's folder\n"+
			"  write build { context = %q } into the macro if you want it sent", wanted.Macro, wanted.Object, folder, folder)
	}
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(base, folder)
	}
	return manifest.Source{Object: wanted.Object, Folder: folder, Build: wanted.Build}, nil
}

// below reports whether a folder lies in another one, with links resolved. Packing reports a missing folder.
func below(base, folder string) bool {
	if !filepath.IsLocal(folder) {
		return false
	}
	whole, err := filepath.EvalSymlinks(filepath.Join(base, folder))
	if err != nil {
		return true
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return false
	}
	inside, err := filepath.Rel(base, whole)
	return err == nil && filepath.IsLocal(inside)
}

// namesContext reports whether a macro names a build context itself.
func namesContext(spec json.RawMessage, folder string) bool {
	var fields struct {
		Build struct {
			Context string `json:"context"`
		} `json:"build"`
	}
	return json.Unmarshal(spec, &fields) == nil && fields.Build.Context == folder
}
