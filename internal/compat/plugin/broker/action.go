package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/control/verbs"
)

// ActionError is an action that failed. The actions done before it stay done.
type ActionError struct {
	Action plugin.Action
	// Done are the actions before it.
	Done []string
	Err  error
}

func (e *ActionError) Error() string {
	text := fmt.Sprintf("%s: %s", e.Action, e.Err)
	if len(e.Done) > 0 {
		text += "; done before it, and kept: " + strings.Join(e.Done, ", ")
	}
	return text
}

// Unwrap returns the cause.
func (e *ActionError) Unwrap() error { return e.Err }

// do performs the server's actions in order. It returns what it did and the revision of the last write, and stops at
// the first failure.
func (b *Broker) do(
	ctx context.Context, actions []plugin.Action, actor string,
) (done []string, revision int64, err error) {
	done = []string{}
	for _, action := range actions {
		if action.ForClient() {
			continue
		}
		written, err := b.act(ctx, action, actor)
		if err != nil {
			return done, revision, &ActionError{Action: action, Done: done, Err: err}
		}
		revision = max(revision, written)
		done = append(done, action.String())
	}
	return done, revision, nil
}

func (b *Broker) act(ctx context.Context, action plugin.Action, actor string) (int64, error) {
	scope, name := action.Target()
	switch action.Type {
	case plugin.ConfigSet, plugin.ConfigUnset:
		change := verbs.ConfigChange{Set: action.KV, Quiet: action.SkipRestart, Actor: actor}
		if action.Type == plugin.ConfigUnset {
			change.Set = nil
		}
		return b.configure(ctx, verbs.Bucket{Scope: scope, Name: name}, change, action.Keys)
	case plugin.ApplyManifest:
		return b.applyOne(ctx, *action.Manifest, scope, name, actor)
	case plugin.DeleteManifest:
		kind, err := api.ParseKind(action.Kind)
		if err != nil {
			return 0, err
		}
		result, err := b.Verbs.Delete(ctx, verbs.Target{Kind: kind, Scope: scope, Name: name}, actor)
		return result.Revision, unless(err, verbs.NotFound)
	case plugin.RunJob:
		result, err := b.Verbs.Run(ctx, b.jobNamed(scope, name), actor)
		return result.Revision, err
	}
	return 0, fmt.Errorf("%q is not a type of action", action.Type)
}

// unless returns err, or nil if its reason is the forgiven one.
func unless(err error, forgiven verbs.Reason) error {
	var refused *verbs.Error
	if errors.As(err, &refused) && refused.Reason == forgiven {
		return nil
	}
	return err
}

// configure changes a bucket. Keys to remove that don't exist are not an error.
func (b *Broker) configure(
	ctx context.Context, bucket verbs.Bucket, change verbs.ConfigChange, unset []string,
) (int64, error) {
	if len(unset) > 0 {
		values, err := b.Verbs.ConfigValues(ctx, bucket, verbs.ConfigReader{Actor: change.Actor})
		if err != nil {
			return 0, err
		}
		for _, key := range unset {
			if _, there := values[key]; there {
				change.Unset = append(change.Unset, key)
			}
		}
	}
	if len(change.Set)+len(change.Unset) == 0 {
		return 0, nil
	}
	result, err := b.Verbs.SetConfig(ctx, bucket, change)
	return result.Revision, err
}

// applyOne stores a manifest that a plugin wrote. Labels and annotations stay as they are stored, because plugins don't
// see them.
func (b *Broker) applyOne(ctx context.Context, manifest plugin.Manifest, scope, name, actor string) (int64, error) {
	manifest.Scope, manifest.Name = scope, name
	objects, err := b.objectOf(manifest, nil)
	if err != nil {
		return 0, err
	}
	opts := verbs.ApplyOptions{Made: map[api.Ref]verbs.Made{}, FieldManager: verbs.FieldManager{Actor: actor}}
	for i, object := range objects {
		how := verbs.Made{Dotted: manifest.Dotted}
		if stored := b.Snapshot().Object(object.Ref()); stored.Exists() {
			objects[i].Metadata.Labels = maps.Clone(stored.Value.Metadata.Labels)
			objects[i].Metadata.Annotations = maps.Clone(stored.Value.Metadata.Annotations)
			how.Macro = stored.Value.Metadata.Stamps[api.StampMacro]
			how.Dotted = cmp.Or(how.Dotted, stored.Value.Dotted())
		}
		opts.Made[object.Ref()] = how
	}
	result, err := b.Verbs.Apply(ctx, objects, opts)
	return result.Revision, err
}

// jobNamed returns the job of a name, or the cron job if there is none.
func (b *Broker) jobNamed(scope, name string) verbs.Target {
	target := verbs.Target{Kind: api.KindJob, Scope: scope, Name: name}
	cron := api.Ref{Kind: api.KindCronJob, Scope: scope, Name: name}
	if b.Snapshot().Object(cron).Exists() {
		target.Kind = api.KindCronJob
	}
	return target
}
