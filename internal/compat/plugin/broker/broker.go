package broker

import (
	"context"
	"os"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/store/records"
)

// Verbs are the verbs a broker needs; *verbs.Service has them.
type Verbs interface {
	Apply(ctx context.Context, objects []api.Object, opts verbs.ApplyOptions) (api.ApplyResult, error)
	Delete(ctx context.Context, target verbs.Target, actor string) (api.DeleteResult, error)
	Run(ctx context.Context, target verbs.Target, actor string) (api.RunResult, error)
	SetConfig(ctx context.Context, bucket verbs.Bucket, change verbs.ConfigChange) (api.ConfigResult, error)
	Hold(ctx context.Context, names []verbs.Bucket, record api.Hold, longest time.Duration) (release func(), err error)
	ConfigValues(ctx context.Context, bucket verbs.Bucket, by verbs.ConfigReader) (map[string]string, error)
}

// Options are the dependencies of a Broker. Root, Verbs, Snapshot and Decode are needed.
type Options struct {
	Root  *plugin.Root
	Verbs Verbs
	// Snapshot returns a snapshot of the store.
	Snapshot func() records.Snapshot
	// Decode decodes manifests as the API does: the same rules apply to manifests of plugins.
	Decode func(data []byte, contentType string) ([]api.Object, error)
	// Knows reports whether a kind's spec has a field. Default: it has every field.
	Knows func(kind api.Kind, field string) bool
	// Getenv returns the variables with the default sources of plugins. Default os.Getenv.
	Getenv func(name string) string
}

// Broker calls plugins and performs what they request. Safe for concurrent use.
type Broker struct{ Options }

// New makes a Broker.
func New(o Options) *Broker {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Knows == nil {
		o.Knows = func(api.Kind, string) bool { return true }
	}
	return &Broker{Options: o}
}

// Endpoint opens a URL on which a plugin can call the server back while it runs, only about objects of the scopes.
type Endpoint func(ctx context.Context, scopes []string) (url string, shut func(), err error)

// to returns the Endpoint for the given scopes.
func (d Endpoint) to(scopes []string) plugin.Endpoint {
	if d == nil {
		return nil
	}
	return func(ctx context.Context) (string, func(), error) { return d(ctx, scopes) }
}

// List returns the plugins there are.
func (b *Broker) List() ([]api.Plugin, error) {
	found, err := b.Root.List()
	if err != nil {
		return nil, err
	}
	out := make([]api.Plugin, 0, len(found))
	for _, p := range found {
		out = append(out, described(p))
	}
	return out, nil
}

// described returns a plugin in the form of the API.
func described(p *plugin.Plugin) api.Plugin {
	out := api.Plugin{
		Name: p.Folder(), Version: p.Version, Description: p.Description.Description,
		Homepage: p.Homepage, Aliases: p.Aliases,
		Source: plugin.Shown(p.Installed.Source), Pinned: p.Installed.Version,
	}
	for _, c := range p.Offered() {
		out.Commands = append(out.Commands, api.PluginCommand(c))
	}
	if p.Err != nil {
		out.Error = p.Err.Error()
	}
	return out
}

// Install installs a plugin, or replaces it.
func (b *Broker) Install(ctx context.Context, ask api.PluginInstall) (api.Plugin, error) {
	p, err := b.Root.Install(ctx, plugin.Request{Source: ask.Source, Version: ask.Version, Name: ask.Name})
	if err != nil {
		return api.Plugin{}, err
	}
	return described(p), nil
}

// Remove removes a plugin. The objects of its macros stay.
func (b *Broker) Remove(ctx context.Context, name string) (api.PluginRemoval, error) {
	warning, err := b.Root.Remove(ctx, name)
	return api.PluginRemoval{Name: name, Warning: warning}, err
}
