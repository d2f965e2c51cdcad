package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/control/verbs"
)

// MacroError is the reason why a macro can't be expanded.
type MacroError struct {
	Macro api.Ref
	Err   error
}

func (e *MacroError) Error() string { return e.Macro.String() + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *MacroError) Unwrap() error { return e.Err }

// Apply stores objects as the verb does, and replaces macros by their objects. The actions of plugins run after
// everything was found storable and before anything is stored.
func (b *Broker) Apply(
	ctx context.Context, objects []api.Object, opts verbs.ApplyOptions, endpoint Endpoint,
) (api.ApplyResult, error) {
	if !slices.ContainsFunc(objects, isMacro) {
		return b.Verbs.Apply(ctx, objects, opts)
	}
	opts.Made = map[api.Ref]verbs.Made{}
	e := &expanding{Broker: b, opts: opts, endpoint: endpoint, plugins: map[api.Kind]chosen{},
		pending: map[verbs.Bucket]map[string]*string{}, from: map[string]api.Ref{}}
	for _, object := range objects {
		if err := e.add(ctx, object); err != nil {
			return api.ApplyResult{}, &MacroError{Macro: object.Ref(), Err: err}
		}
	}
	if len(e.trees) > 0 {
		return api.ApplyResult{}, &TreesError{Builds: e.trees}
	}
	if err := e.perform(ctx); err != nil {
		return api.ApplyResult{}, e.explain(err)
	}
	result, err := b.Verbs.Apply(ctx, e.objects, e.opts)
	result.Macros = e.results
	return result, e.explain(err)
}

func isMacro(o api.Object) bool { return !o.Kind.Core() }

// expanding is the state of expanding an apply's macros.
type expanding struct {
	*Broker
	opts     verbs.ApplyOptions
	endpoint Endpoint
	objects  []api.Object
	results  []api.MacroResult
	actions  []plugin.Action
	plugins  map[api.Kind]chosen
	// pending are the changes of buckets by the actions so far; nil is a removed key.
	pending map[verbs.Bucket]map[string]*string
	// trees are the objects that are built from source whose tree the manifest doesn't name.
	trees []api.MacroBuild
	// from maps objects to the macro they come from.
	from map[string]api.Ref
}

// add adds an object: a macro is replaced by its objects.
func (e *expanding) add(ctx context.Context, object api.Object) error {
	if !isMacro(object) {
		e.objects = append(e.objects, object)
		return nil
	}
	if found := api.ValidateMacro(object); len(found) > 0 {
		return &verbs.Error{Reason: verbs.Invalid, Detail: "the macro can't be expanded",
			Next: "correct the manifest", Errors: found}
	}
	asked, spec, err := splitSpec(object.Spec)
	if err != nil {
		return err
	}
	p, result, err := e.choose(ctx, object.Ref(), asked)
	if err != nil {
		return err
	}
	config, err := e.config(ctx, object)
	if err != nil {
		return err
	}
	request := plugin.ExpandRequest{Kind: object.Kind, Scope: object.Scope, Name: object.Name, Spec: spec, Config: config}
	expansion, err := p.Expand(ctx, request, e.endpoint.to(scopesOf(object)), e.opts.DryRun)
	if err != nil {
		return err
	}
	return e.take(ctx, object, p, expansion, result)
}

func scopesOf(object api.Object) []string {
	if object.Scope == "" {
		return nil
	}
	return []string{object.Scope}
}

// splitSpec removes Tend's own block from a macro's spec. Other fields of the block are passed on to the plugin.
func splitSpec(spec json.RawMessage) (asked api.PluginSource, rest json.RawMessage, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(spec, &fields); err != nil {
		return asked, nil, fmt.Errorf("its spec is not an object: %w", err)
	}
	raw, has := fields[api.MacroPlugin]
	if !has || json.Unmarshal(raw, &asked) != nil { // a field of that name may be the plugin's own
		return api.PluginSource{}, spec, nil //nolint:nilerr // see above
	}
	var block map[string]json.RawMessage
	if err := json.Unmarshal(raw, &block); err != nil {
		return asked, nil, fmt.Errorf("its block plugin is not an object: %w", err)
	}
	delete(block, "version")
	delete(block, "repo")
	if delete(fields, api.MacroPlugin); len(block) > 0 {
		if fields[api.MacroPlugin], err = json.Marshal(block); err != nil {
			return asked, nil, err
		}
	}
	rest, err = json.Marshal(fields)
	return asked.Split(), rest, err
}

// config returns the config values that a plugin gets for the macro's buckets, with the changes of earlier actions of
// this apply.
func (e *expanding) config(ctx context.Context, object api.Object) (map[string]string, error) {
	if object.Scope == "" {
		return nil, nil
	}
	own := verbs.Bucket{Scope: object.Scope, Name: object.Name}
	values, err := e.Verbs.ConfigValues(ctx, own,
		verbs.ConfigReader{Merged: true, Actor: actorOf(e.opts.Actor, string(object.Kind))})
	if err != nil {
		return nil, err
	}
	for _, bucket := range []verbs.Bucket{{Scope: object.Scope}, own} {
		for key, value := range e.pending[bucket] {
			if delete(values, key); value != nil {
				values[key] = *value
			}
		}
	}
	return values, nil
}

// actorOf returns the actor of a plugin's writes.
func actorOf(actor, name string) string { return actor + " through the plugin " + name }

// take adds the objects of a macro.
func (e *expanding) take(
	ctx context.Context, macro api.Object, p *plugin.Plugin, expansion plugin.Expansion, result api.MacroResult,
) error {
	all, err := e.objectsOf(macro, p, expansion.Manifests, &result)
	if err != nil {
		return err
	}
	e.stampTrees(macro, all)
	for _, one := range all {
		result.To = append(result.To, one.object.Ref())
		e.from[one.object.Ref().String()] = macro.Ref()
		e.objects = append(e.objects, one.object)
		e.opts.Made[one.object.Ref()] = verbs.Made{Macro: macro.Ref().String(), Dotted: one.dotted}
	}
	for _, action := range expansion.Actions {
		if scope, _ := action.Target(); macro.Scope != "" && scope != macro.Scope {
			return foreign(p, fmt.Sprintf("the action %s is about the scope %s", action, scope), macro)
		}
		action.SkipRestart = true // the apply itself restarts what changes
		changes, err := e.changes(ctx, action)
		if err != nil {
			return err
		}
		if !changes {
			continue
		}
		e.expect(action)
		e.actions = append(e.actions, action)
		result.Actions = append(result.Actions, action.String())
	}
	e.results = append(e.results, result)
	return nil
}

// changes reports whether an action has an effect. Config that is set already is left out, so that it isn't reported.
func (e *expanding) changes(ctx context.Context, action plugin.Action) (bool, error) {
	if action.Type != plugin.ConfigSet && action.Type != plugin.ConfigUnset {
		return true, nil
	}
	scope, name := action.Target()
	bucket := verbs.Bucket{Scope: scope, Name: name}
	values, err := e.Verbs.ConfigValues(ctx, bucket, verbs.ConfigReader{Actor: actorOf(e.opts.Actor, "that sets it")})
	if err != nil {
		return false, err
	}
	for key, value := range e.pending[bucket] {
		if delete(values, key); value != nil {
			values[key] = *value
		}
	}
	for key, value := range action.KV {
		if have, there := values[key]; !there || have != value {
			return true, nil
		}
	}
	return slices.ContainsFunc(action.Keys, func(key string) bool { _, there := values[key]; return there }), nil
}

// expect records how an action will change a bucket.
func (e *expanding) expect(action plugin.Action) {
	scope, name := action.Target()
	bucket := verbs.Bucket{Scope: scope, Name: name}
	if e.pending[bucket] == nil {
		e.pending[bucket] = map[string]*string{}
	}
	for key, value := range action.KV {
		e.pending[bucket][key] = &value
	}
	for _, key := range action.Keys {
		e.pending[bucket][key] = nil
	}
}

// perform runs the actions of a real apply, after a rehearsal has shown that everything can be stored.
func (e *expanding) perform(ctx context.Context) error {
	if e.opts.DryRun || len(e.actions) == 0 {
		return nil
	}
	rehearsal := e.opts
	rehearsal.DryRun = true
	result, err := e.Verbs.Apply(ctx, e.objects, rehearsal)
	if err != nil {
		return err
	}
	if !e.opts.ForceConflicts && slices.ContainsFunc(result.Objects,
		func(o api.ObjectResult) bool { return len(o.Conflicts) > 0 }) {
		return nil // the apply itself reports the fault
	}
	_, _, err = e.do(ctx, e.actions, e.opts.Actor)
	return err
}

// explain adds to faults in generated objects which macro they come from.
func (e *expanding) explain(err error) error {
	var refused *verbs.Error
	if !errors.As(err, &refused) {
		return err
	}
	described := *refused
	described.Errors = slices.Clone(refused.Errors)
	for i, fault := range described.Errors {
		if macro, made := e.from[fault.Object]; made {
			described.Errors[i].Detail += fmt.Sprintf(" (the plugin %s made it of %s)", macro.Kind, macro)
		}
	}
	return &described
}
