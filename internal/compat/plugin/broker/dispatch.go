package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/compat/plugin"
)

// Command is a command of a plugin to run for a caller.
type Command struct {
	// Plugin is the name of the plugin or an alias, as typed.
	Plugin string
	Name   string
	Args   []string
	Actor  string
	// Env are further variables for the plugin's program. Only for Exec.
	Env map[string]string
	// Within are the scopes that the actions may change. Default: all.
	Within []string
}

// Call runs a command and performs the actions in its answer. It returns the revision of the last write.
func (b *Broker) Call(
	ctx context.Context, ask Command, endpoint Endpoint,
) (result api.PluginResult, revision int64, err error) {
	p, err := b.Root.Find(ask.Plugin)
	if err != nil {
		return result, 0, err
	}
	release, err := b.hold(ctx, p, ask)
	if err != nil {
		return result, 0, err
	}
	defer release()
	answer, err := p.Dispatch(ctx, ask.Plugin, ask.Name, ask.Args, endpoint.to(Scopes(ask.Args)))
	if err == nil {
		err = ask.allows(p, answer.Actions)
	}
	if err != nil {
		return result, 0, err
	}
	result.Message = answer.Message
	if result.Applied, revision, err = b.do(ctx, answer.Actions, actorOf(ask.Actor, p.Folder())); err != nil {
		return result, revision, err
	}
	forClient(answer.Actions, &result)
	return result, revision, nil
}

// Exec runs a command and returns its answer. It performs none of the answer's actions.
func (b *Broker) Exec(ctx context.Context, ask Command, endpoint Endpoint) (api.Envelope, error) {
	p, err := b.Root.Find(ask.Plugin)
	if err != nil {
		return api.Envelope{}, err
	}
	release, err := b.hold(ctx, p, ask)
	if err != nil {
		return api.Envelope{}, err
	}
	defer release()
	said, err := p.Exec(ctx, ask.Name, ask.Args, ask.Env, endpoint.to(Scopes(ask.Args)))
	if err != nil || said.Status != "" {
		return api.Envelope{Status: said.Status, Data: said.Data, Error: said.Error}, err
	}
	text, err := json.Marshal(map[string]string{"stdout": said.Text})
	return api.Envelope{Status: plugin.StatusOK, Data: text}, err
}

// allows refuses actions about scopes that the caller is not allowed to access.
func (c Command) allows(p *plugin.Plugin, actions []plugin.Action) error {
	for _, action := range actions {
		scope, _ := action.Target()
		if c.Within != nil && !action.ForClient() && !slices.Contains(c.Within, scope) {
			return &plugin.Error{Reason: plugin.Failed, Plugin: p.Folder(), Command: c.Name,
				Detail: fmt.Sprintf("%s: the caller is not allowed to access the scope %s", action, scope),
				Next:   "run the command with `tend`"}
		}
	}
	return nil
}

// forClient adds the actions that the client performs to the result.
func forClient(actions []plugin.Action, result *api.PluginResult) {
	for _, action := range actions {
		switch action.Type {
		case plugin.ExecLocal:
			result.ExecLocal = append(result.ExecLocal, api.ExecLocal{Command: action.Command})
		case plugin.FetchFile:
			result.FetchFile = append(result.FetchFile, api.FetchFile{RemotePath: action.RemotePath, DestPath: action.DestPath,
				SizeBytes: action.SizeBytes})
		}
	}
}

// addressed matches an argument that names an object: scope/name, scope/name.ordinal, or either after a flag's =.
var addressed = pattern.Lazy(`^(?:--?[A-Za-z0-9-]+=)?([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)/([a-z0-9][a-z0-9.-]*)$`)

// Scopes returns the scopes of the objects that the arguments name.
func Scopes(args []string) []string {
	var out []string
	for _, arg := range args {
		for _, word := range strings.Split(arg, ",") {
			if found := addressed().FindStringSubmatch(word); found != nil && !slices.Contains(out, found[1]) {
				out = append(out, found[1])
			}
		}
	}
	return out
}

// NameOf returns the name of the plugin that answers to a name or an alias.
func (b *Broker) NameOf(named string) (string, error) {
	p, err := b.Root.Find(named)
	if err != nil {
		return "", err
	}
	return p.Folder(), nil
}
