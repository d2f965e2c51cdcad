package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/core/suggest"
)

// latest is the version that is reinstalled each time.
const latest = "latest"

// chosen is the plugin of a kind within one apply, and the requested source.
type chosen struct {
	plugin *plugin.Plugin
	asked  api.PluginSource
}

// choose finds the plugin of a macro. It installs the plugin if the macro names a source and the apply is not a dry
// run.
func (e *expanding) choose(
	ctx context.Context, macro api.Ref, asked api.PluginSource,
) (*plugin.Plugin, api.MacroResult, error) {
	result := api.MacroResult{From: macro, To: []api.Ref{}}
	if before, known := e.plugins[macro.Kind]; known && (before.asked == asked || asked == (api.PluginSource{})) {
		return before.plugin, result, nil
	} else if known && before.asked != (api.PluginSource{}) {
		return nil, result, &plugin.Error{Reason: plugin.Source, Plugin: string(macro.Kind),
			Detail: "two macros of one apply ask for different versions of it", Next: "name the same version and repo in both"}
	}
	p, err := e.Root.Find(string(macro.Kind))
	var fault *plugin.Error
	absent := errors.As(err, &fault) && (fault.Reason == plugin.NotFound || fault.Reason == plugin.Broken)
	switch {
	case err != nil && (!absent || asked == (api.PluginSource{})):
		if next := suggest.ForeignKind(string(macro.Kind)); absent && fault.Reason == plugin.NotFound && next != "" {
			return nil, result, &plugin.Error{Reason: plugin.NotFound, Next: next,
				Detail: fmt.Sprintf("there is no kind %q, and no plugin is named so", macro.Kind)}
		}
		return nil, result, err
	case err == nil && !wants(asked, p):
	case e.opts.DryRun && err != nil:
		return nil, result, &plugin.Error{Reason: plugin.NotFound, Plugin: string(macro.Kind),
			Detail: "it is not installed, and a dry run installs nothing",
			Next:   "apply it, or install it with `tend plugins install`"}
	case e.opts.DryRun:
		result.Warnings = append(result.Warnings,
			fmt.Sprintf("the plugin %s %s is requested and %s is installed: the apply installs it first",
				macro.Kind, asked.Version, cmp.Or(p.Version, "another version")))
	default:
		if p, err = e.install(ctx, macro.Kind, asked, p); err != nil {
			return nil, result, err
		}
		result.Installed = &api.PluginDone{Plugin: p.Folder(), Version: p.Version, Source: plugin.Shown(p.Installed.Source)}
	}
	if p.Err == nil && !p.Has(plugin.ExpandCommand) {
		return nil, result, &plugin.Error{Reason: plugin.NoCommand, Plugin: p.Folder(),
			Detail: "there is no command expand: it offers no macro",
			Next:   "`tend plugins list` shows what it offers"}
	}
	e.plugins[macro.Kind] = chosen{p, asked}
	return p, result, nil
}

// wants reports whether a macro asks for another plugin than the one that is installed.
func wants(asked api.PluginSource, p *plugin.Plugin) bool {
	return asked.Version == latest ||
		asked.Version != "" && strings.TrimPrefix(asked.Version, "v") != strings.TrimPrefix(p.Version, "v")
}

// install installs the plugin of a kind from the source in the macro, from its earlier source, or from the server's
// default source for that name.
func (e *expanding) install(
	ctx context.Context, kind api.Kind, asked api.PluginSource, before *plugin.Plugin,
) (*plugin.Plugin, error) {
	source := asked.Repo
	if source == "" && before != nil {
		source = before.Installed.Source
	}
	variable := "PLUGIN_DEFAULT_REPO_" + strings.ToUpper(strings.ReplaceAll(string(kind), "-", "_"))
	source = cmp.Or(source, e.Getenv("TEND_"+variable), e.Getenv("VOODU_"+variable))
	if source == "" {
		return nil, &plugin.Error{Reason: plugin.Source, Plugin: string(kind), Detail: "nothing says where it is from",
			Next: "add repo to the plugin block, or set TEND_" + variable + " for the server"}
	}
	return e.Root.Install(ctx, plugin.Request{Source: source, Version: asked.Version, Name: string(kind)})
}
