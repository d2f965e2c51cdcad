package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/core/ownership"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// FieldManager is the field manager that changes a spec, and its rights. The zero value is the users' manager.
type FieldManager struct {
	// Manager is the role that owns the fields it sets. Default api.ManagerApply, for everything that users send.
	Manager string
	// Actor is the user or program that asked, in the manager's role: for the log, and to answer who set a field.
	Actor string
	// ForceConflicts takes over fields that another manager set to another value. Default: the verb is refused.
	ForceConflicts bool
	// Through takes the commit, such as the term of the server that has the controllers: one that lost them writes
	// nothing. Default: the service's store.
	Through records.Committer
	// rights are those of who asks; nil for all.
	rights *source.Rights
	// command is set while a command such as scale sets a field: who gave it has no manifest to correct.
	command bool
	// whole is set while a command returns to a whole spec: fields of others that it lacks go.
	whole bool
}

// managerName matches a role; behind a colon stands which of several it is, as in sync:shop.
var managerName = pattern.Lazy(`^[a-z][a-z0-9-]{0,62}(:[a-z0-9][a-z0-9-]{0,62})?$`)

func (s FieldManager) manager() string {
	return cmp.Or(s.Manager, api.ManagerApply)
}

// asks returns a context whose commits are the manager's, for a verb.
func (s FieldManager) asks(ctx context.Context, verb string) context.Context {
	return records.WithAuthor(ctx, records.Author{Verb: verb, Actor: s.Actor, Manager: s.manager()})
}

// of returns the manager with the rights of who asks.
func (s FieldManager) of(ctx context.Context) FieldManager {
	rights := RightsOf(ctx)
	s.rights = &rights
	return s
}

// returning returns the manager as it sets a whole spec, that of a release.
func (s FieldManager) returning() FieldManager {
	s.whole = true
	return s
}

func (s FieldManager) check() error {
	if !managerName().MatchString(s.manager()) {
		return invalid("use lower-case letters, digits and dashes, at most 63", "%q is not the name of a manager",
			s.Manager)
	}
	return nil
}

// owned is an object after a field manager's change.
type owned struct {
	object    api.Object
	changes   []api.FieldChange
	conflicts []api.FieldConflict
	// kept are the fields of others that the change does not name.
	kept []api.FieldOwner
}

// own merges what next declares with the stored object. It returns next with the merged spec and the record of who set
// which field. about says which top-level fields next declares, nil means all; the others are in next as they are
// stored.
func (s FieldManager) own(old, next api.Object, now time.Time, about func(field string) bool) (owned, error) {
	live, err := ownership.Parse(old.Spec)
	if err != nil {
		return owned{}, err
	}
	declared, err := ownership.Parse(next.Spec)
	if err != nil {
		return owned{}, err
	}
	changes := diff("", live, declared, nil)
	if len(changes) == 0 && len(old.Spec) > 0 {
		next.Spec, declared = old.Spec, live // nothing changes: the stored text is kept
	}
	outcome, err := ownership.Apply(
		ownership.Stored{Spec: live, Fields: old.Metadata.Fields, Since: old.Metadata.UpdatedAt}, declared,
		ownership.Change{Manager: s.manager(), Actor: s.Actor, At: now, About: about, Whole: s.whole})
	if err != nil {
		return owned{}, err
	}
	if outcome.Added {
		if changes = diff("", live, outcome.Spec, nil); len(changes) == 0 {
			next.Spec = old.Spec
		} else if next.Spec, err = ownership.Text(outcome.Spec); err != nil {
			return owned{}, err
		}
	}
	next.Metadata.Fields = outcome.Fields
	return owned{object: next, changes: changes, conflicts: withoutLapsed(next, outcome.Conflicts), kept: outcome.Kept},
		nil
}

// refuse adds the conflicts that the manager may not take over.
func (s FieldManager) refuse(ref api.Ref, declared json.RawMessage, conflicts []api.FieldConflict, found *faults) {
	if s.ForceConflicts {
		return
	}
	for _, c := range conflicts {
		by := c.Manager
		if c.Actor != "" {
			by += " (" + c.Actor + ")"
		}
		found.add(FieldOwned, ref, c.Path, s.nextFor(ref, c, declared), "%s set it to %s at %s", by,
			brief(shownValue(ref.Kind, c.Path, c.Value)),
			c.At.UTC().Format(time.RFC3339))
	}
}

// nextForSync returns the next step after a conflict of a sync: nobody can pass --force-conflicts to it.
func nextForSync(ref api.Ref, c api.FieldConflict, declared json.RawMessage) string {
	fields, err := fieldsOf(declared)
	count, declares := fields["replicas"]
	if err != nil || !isReplicas(c.Path) || !declares {
		return fmt.Sprintf("leave %s out of the source, or set it to the same value there; who set it: tend blame %s/%s",
			c.Path, ref.Scope, ref.Name)
	}
	return fmt.Sprintf("to let the sync's %s stand: tend scale %s/%s %[1]s; to keep %[4]s: take replicas out of the source",
		brief(count), ref.Scope, ref.Name, brief(shownValue(ref.Kind, c.Path, c.Value)))
}

// brief returns a value short enough for a message.
func brief(value []byte) string {
	const most = 60
	if runes := []rune(string(value)); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(value)
}

// nextFor returns the next step after a conflict.
func (s FieldManager) nextFor(ref api.Ref, c api.FieldConflict, declared json.RawMessage) string {
	switch source, synced := strings.CutPrefix(c.Manager, api.SyncManager("")); {
	case strings.HasPrefix(s.manager(), api.SyncManager("")):
		return nextForSync(ref, c, declared)
	case !s.command:
		return nextFieldOwned
	case synced:
		return fmt.Sprintf("change it in the source of sync %s, or set it here all the same with --force-conflicts", source)
	}
	return "change it where " + c.Manager + " has it, or set it here all the same with --force-conflicts"
}

const nextFieldOwned = "leave the field out, set it to the same value, or take it over with --force-conflicts"
