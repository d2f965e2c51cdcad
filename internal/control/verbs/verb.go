package verbs

import (
	"context"
	"maps"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// Decision holds the writes of a verb and its answer.
type Decision[Out any] struct {
	txn    *records.Txn
	result Out
	next   *api.Object // the object as it is written; nil if it stays
}

func (d *Decision[Out]) transaction() *records.Txn { return d.txn }

type (
	verbDecision = Decision[api.VerbResult]
	downDecision = Decision[api.NodeDownResult]
)

// verb decides and commits, and sets the revision in the result.
func (s *Service) verb(ctx context.Context, name string, by FieldManager,
	prepare func(records.Snapshot) (*verbDecision, error),
) (api.VerbResult, error) {
	decided, revision, err := decideThrough(by.asks(ctx, name), s, by.Through, prepare)
	if err != nil {
		return api.VerbResult{}, err
	}
	if revision != 0 {
		decided.result.Revision = revision
	}
	s.note(ctx, name, by.Actor, revision, decided.result.Object)
	return decided.result, nil
}

// unchanged returns the decision to leave an object as it is.
func unchanged(site string, object records.Read[api.Object]) *verbDecision {
	return &verbDecision{txn: records.NewTxn(site), result: api.VerbResult{
		Object: object.Value.Ref(), Generation: object.Value.Metadata.Generation, Revision: object.Modified,
	}}
}

// write adds the object's new form, on the condition that it has not changed since it was read.
func write(d *verbDecision, read records.Read[api.Object], next api.Object, now time.Time) {
	next.Metadata.Revision = 0
	next.Metadata.UpdatedAt = now
	d.result.Changed, d.next = true, &next
	d.result.Generation = next.Metadata.Generation
	key := records.ObjectKey(next.Ref())
	d.txn.If(key, read.Modified).Put(key, next)
}

// amend adds the object with the spec that the manager declares in next; about says which top-level fields it declares.
// A change of the pinned stamps makes a new generation too.
func (s *Service) amend(snap records.Snapshot, decided *verbDecision, object records.Read[api.Object], next api.Object,
	by FieldManager, about func(field string) bool,
) error {
	now := s.opts.Now()
	by.command = true
	owned, err := by.own(*object.Value, next, now, about)
	if err != nil {
		return err
	}
	found := &faults{}
	by.refuse(next.Ref(), next.Spec, lasting(snap, owned.conflicts), found)
	if err := found.err(found.headline(next.Ref().String())); err != nil {
		return err
	}
	if len(owned.changes) > 0 || !maps.Equal(object.Value.Metadata.Stamps, next.Metadata.Stamps) {
		owned.object.Metadata.Generation++
	}
	if sameObject(*object.Value, owned.object) {
		return nil
	}
	if err := s.checkWrite(snap, owned.object, by.rights); err != nil {
		return err
	}
	write(decided, object, owned.object, now)
	return nil
}

// checkWrite checks a verb's outcome by the rules of an apply.
func (s *Service) checkWrite(snap records.Snapshot, next api.Object, rights *source.Rights) error {
	if err := checkObjects([]api.Object{next}, s.opts.Validate); err != nil {
		return err
	}
	found := &faults{rights: rights}
	checkPorts(snap, []api.Object{next}, nil, found)
	return found.err(found.headline(next.Ref().String()))
}

// findSlotted finds a live object that has slots and releases. done, command and of are for the error about other
// kinds: what can't be done to them, the command line for an object that it can be done to, with a %s for its name, and
// the kinds of such objects.
func (t Target) findSlotted(
	snap records.Snapshot, done, command string, of func(api.Kind) bool,
) (records.Read[api.Object], error) {
	object, err := t.findLive(snap)
	if err == nil && !object.Value.Kind.HasSlots() {
		return object, invalid(insteadOf(snap, *object.Value, command, of), "%s can't be %s",
			object.Value.Ref(), done)
	}
	return object, err
}

// nameOne is the next step where an object of another kind is named: the kinds that are as asked, by their table.
func nameOne(of func(api.Kind) bool) string {
	var words []string
	for _, kind := range api.KindsThat(of) {
		switch {
		case !kind.Stored():
		case strings.ContainsRune("aeiou", rune(kind[0])):
			words = append(words, "an "+string(kind))
		default:
			words = append(words, "a "+string(kind))
		}
	}
	last := len(words) - 1
	if last < 1 {
		return "name " + strings.Join(words, "")
	}
	return "name " + strings.Join(words[:last], ", ") + " or " + words[last]
}
