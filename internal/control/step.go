package control

import (
	"cmp"
	"log/slog"
	"reflect"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// Step is everything that is done about an object at once. The Shell commits it, asks whether it is empty, and shows it
// as the dry run. The zero value does nothing.
type Step struct {
	// Txn holds the writes besides the status, on the conditions that they need. The Shell adds the condition that the
	// object, if there may be one, is the one that was read. Default: none, and the site <kind>.status.
	Txn *records.Txn
	// Status is written if it differs from the stored one, and with any other write. nil leaves the stored one as it
	// is.
	Status any
	// Guard is the key that every commit of the step compares and writes. Default: that of the status.
	Guard string
	// Removes says that the commit removes the object itself.
	Removes bool
	// Actions lists the step's actions, for the log and the dry run. In a dry run it also has the actions of later
	// steps. Chores, such as to delete the record of a container that is gone, are left out of the dry run.
	Actions, Chores []api.PlannedAction
	// Calls are the calls to the outside that the object needs now; see Call.
	Calls []Call
	// Memo reaches the next step, as Observation.Memo: what the next server need not know. nil is nothing.
	Memo any
	// After is the time until the next step if nothing is written before; 0 means never.
	After time.Duration
	// Stalled is the reason why no step follows until a person changes something.
	Stalled error
	// Log logs and counts what else a commit did; nil if there is nothing to say.
	Log func(*slog.Logger)
}

// Empty reports whether the step writes nothing.
func (s Step) Empty() bool { return s.Txn == nil || s.Txn.Empty() }

// Planned returns an action that says no more than its text.
func (o Observation) Planned(verb, text string) api.PlannedAction {
	return api.PlannedAction{Object: o.Ref, Verb: verb, Text: text}
}

// complete adds the status, and the conditions that every commit is on. One that can't be made is an error.
// isObject says that the subject is an object.
func (s *Step) complete(o Observation, isObject bool) error {
	key := records.StatusKey(o.Ref)
	if s.Txn == nil {
		s.Txn = records.NewTxn(string(o.Ref.Kind) + ".status")
	}
	s.Guard = cmp.Or(s.Guard, key)
	if s.Status != nil {
		stored, _ := o.Get(key)
		changed, err := statusDiffers(stored.Value, s.Status)
		if err != nil {
			return err
		}
		if changed || !s.Txn.Empty() {
			s.Txn.If(key, stored.Modified).Put(key, s.Status)
		}
	}
	if isObject {
		s.Txn.If(records.ObjectKey(o.Ref), o.Object.Modified)
	}
	return s.Txn.Err()
}

// statusDiffers is Differs for a stored record, which is a pointer to a status or nil.
func statusDiffers(stored, next any) (bool, error) {
	was := reflect.ValueOf(stored)
	if was.Kind() != reflect.Pointer || was.IsNil() || was.Type().Elem() != reflect.TypeOf(next) {
		return true, nil
	}
	value := was.Elem().Interface()
	return Differs(&value, next)
}

// Forget returns the step that deletes what is left of an object that was removed without its controller: its status,
// and further keys.
func Forget(o Observation, keys ...string) Step {
	txn, status := records.NewTxn(string(o.Ref.Kind)+".forget"), records.StatusKey(o.Ref)
	for _, key := range append(keys, status) {
		if record, there := o.Get(key); there {
			txn.If(key, record.Modified).Delete(key)
		}
	}
	if _, there := o.Get(status); !there {
		txn.If(status, 0)
	}
	return Step{Txn: txn}
}

// MaxLeftovers is the most records that one commit of a deletion removes.
const MaxLeftovers = 5000

// Finalize returns the step that removes an object and everything kept under its name, once no task of it is left. The
// last commit removes the object itself, so an interrupted deletion can always continue.
func Finalize(o Observation) Step {
	ref, guard := o.Ref, records.ObjectKey(o.Ref)
	txn := records.NewTxn(string(ref.Kind) + ".finalize")
	for _, prefix := range []string{
		records.ReleasePrefix(ref), records.RunSetPrefix(ref), records.DeliverySetPrefix(ref),
		records.FrozenSetPrefix(ref),
		records.SlotKey(ref, ""),
	} {
		for record := range o.Prefix(prefix) {
			if txn.Len() == MaxLeftovers {
				return Step{Txn: txn, Guard: guard, After: time.Millisecond}
			}
			txn.Delete(record.Key)
		}
	}
	for _, key := range []string{
		guard, records.StatusKey(ref), records.ImageKey(ref), records.FoundKey(ref), records.UnansweredKey(ref),
		records.MovesKey(ref),
		records.AutoscaleKey(ref), records.LabKey(ref),
	} {
		txn.Delete(key)
	}
	if claim := o.NameOwner(ref); claim.Exists() && *claim.Value == ref {
		key := records.NameKey(ref)
		txn.If(key, claim.Modified).Delete(key)
	}
	return Step{Txn: txn, Guard: guard, Removes: true}
}
