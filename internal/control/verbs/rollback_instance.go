package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/store/records"
)

// prepareReturn puts the spec of an earlier release of an application instance back. Suspend stays as it is today, as
// replicas do. Values that come from Secrets and ConfigMaps are references: the cluster reads those of today.
func (s *Service) prepareReturn(
	ctx context.Context, snap records.Snapshot, object records.Read[api.Object], opts RollbackOptions,
) (*verbDecision, error) {
	ref := object.Value.Ref()
	if err := CheckRights(ctx, []api.Object{*object.Value}); err != nil {
		return nil, err
	}
	if opts.WithConfig {
		return nil, invalid("leave out --with-config",
			"%s has no config of its own: what its values name in the cluster stays as it is", ref)
	}
	release, err := rollbackTarget(snap, ref, opts.Release)
	if err != nil {
		return nil, err
	}
	decided := unchanged("rollback", object)
	decided.result.Release = release.ID
	next := *object.Value
	if next.Spec, err = withSuspendOf(release.Spec, next.Spec); err != nil {
		return nil, err
	}
	changes, err := Changes(object.Value.Spec, next.Spec)
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		if object.Value.Metadata.Stamps[api.StampRollback] == release.ID {
			return decided, nil // the request came before
		}
		return nil, invalid(
			fmt.Sprintf("`tend releases %s %s/%s` lists what it can return to; to have the cluster install it once more: tend apply --force",
				ref.Kind, ref.Scope, ref.Name),
			"the spec of %s is that of %s already", ref, release.ID)
	}
	found := &faults{} // a managed instance never becomes a placeholder again
	if checkFixed(snap, object, next, found); len(found.errors) > 0 {
		return nil, found.err(found.headline(ref.String()))
	}
	if warning := paused(snap, *object.Value); warning != "" {
		decided.result.Warnings = append(decided.result.Warnings, warning)
	}
	next.Metadata.Stamps = with(next.Metadata.Stamps, api.StampRollback, release.ID)
	next.Metadata.Change = &api.Change{Verb: "rollback", Actor: opts.Actor}
	return decided, s.amend(snap, decided, object, next, opts.FieldManager.returning(),
		func(field string) bool { return field != fieldSuspend })
}

// fieldSuspend is the field of a spec that no release has.
const fieldSuspend = "suspend"

// withSuspendOf returns the spec of a release with what the current one says of suspend.
func withSuspendOf(release, current json.RawMessage) (json.RawMessage, error) {
	fields, err := fieldsOf(release)
	if err != nil {
		return nil, err
	}
	now, err := fieldsOf(current)
	if err != nil {
		return nil, err
	}
	if delete(fields, fieldSuspend); now[fieldSuspend] != nil {
		fields[fieldSuspend] = now[fieldSuspend]
	}
	return json.Marshal(fields)
}

// paused returns why nothing comes of a rollback yet, and what ends that: the object says that it is to be left as it
// is, or its cluster does; empty if neither does. A maintenance window isn't named, because it opens by itself.
func paused(snap records.Snapshot, object api.Object) string {
	const until = "the earlier release is stored, and installed once "
	if object.Metadata.Annotations[pull.AnnotationReconcile] == pull.ReconcileDisabled {
		return fmt.Sprintf("it is paused by its annotation %s: %sthat is removed", pull.AnnotationReconcile, until)
	}
	if spec, err := api.DecodeSpec[api.ApplicationInstanceSpec](object); err == nil && spec.Suspend {
		return "it is suspended: " + until + "suspend is false"
	}
	if status := snap.DeliveredStatus(object.Ref()).Value; status != nil {
		if c := clusterjob.Paused(*status); c != nil {
			return fmt.Sprintf("it is paused in its cluster (%s): %sit goes on there: %s", cmp.Or(c.Message, c.Reason), until,
				"remove the annotation, or flux resume helmrelease")
		}
	}
	return ""
}
