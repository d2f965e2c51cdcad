package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
)

// Key returns the engine's key of an object.
func Key(ref api.Ref) engine.Key {
	return engine.Key{Kind: string(ref.Kind), Scope: ref.Scope, Name: ref.Name}
}

// Keys returns the keys of all objects of a kind, for the replay and the full pass.
func Keys(s records.Snapshot, kind api.Kind) []engine.Key {
	var out []engine.Key
	for object := range s.Objects(kind) {
		out = append(out, Key(object.Value.Ref()))
	}
	return out
}

// KeysAndStatuses returns the keys of all objects of a kind, and of those of which only the status is left.
func KeysAndStatuses(s records.Snapshot, kind api.Kind) []engine.Key {
	out := Keys(s, kind)
	for record := range s.Prefix(records.StatusPrefix + string(kind) + "/") {
		ref, _, ok := records.ParseRef(strings.TrimPrefix(record.Key, records.StatusPrefix))
		if ok && !s.Object(ref).Exists() {
			out = append(out, Key(ref))
		}
	}
	return out
}

// Dirty returns the keys of those objects of a kind that have something to do, as Due does.
func Dirty(s records.Snapshot, kind api.Kind, now time.Time, dirty func(records.Snapshot, records.Read[api.Object], time.Time) bool) []engine.Key {
	var out []engine.Key
	for object := range s.Objects(kind) {
		key := Key(object.Value.Ref())
		if isDue(key, func() bool { return dirty(s, object, now) }) {
			out = append(out, key)
		}
	}
	return out
}

// EngineStep is the next step to show while no node's container engine answers.
const EngineStep = "start the container engine (systemctl start docker); Tend goes on by itself"

// NodesDown returns the message to show when no node's container engine answers. It is empty if at least one does.
func NodesDown(nodes []records.Read[api.NodeStatus]) string {
	message := ""
	for _, node := range nodes {
		if node.Value.Ready {
			return ""
		}
		message = fmt.Sprintf("node %s: %s", node.Value.ID, node.Value.Message)
	}
	return message
}

// Differs reports whether next says something other than the stored status. A nil stored means there is none.
func Differs[T any](stored *T, next T) (bool, error) {
	if stored == nil {
		return true, nil
	}
	if reflect.DeepEqual(*stored, next) {
		return false, nil // the common case; what differs in memory, as two forms of one time do, may be stored alike
	}
	was, err := json.Marshal(stored)
	if err != nil {
		return false, fmt.Errorf("encode a stored status: %w", err)
	}
	is, err := json.Marshal(next)
	if err != nil {
		return false, fmt.Errorf("encode a status: %w", err)
	}
	return !bytes.Equal(was, is), nil
}

// MaxLeftovers is the most records that one commit of a deletion removes.
const MaxLeftovers = 5000

// Finalize removes an object and everything kept under its name, once no task of it is left. The last commit removes
// the object itself, so an interrupted deletion can always continue.
func (d Deps) Finalize(ctx context.Context, s records.Snapshot, object records.Read[api.Object]) (engine.Result, error) {
	ref := object.Value.Ref()
	txn := records.NewTxn(string(ref.Kind)+".finalize").If(records.ObjectKey(ref), object.Modified)
	for _, prefix := range []string{
		records.ReleasePrefix(ref), records.RunSetPrefix(ref), records.DeliverySetPrefix(ref), records.FrozenSetPrefix(ref), records.SlotKey(ref, ""),
	} {
		for record := range s.Prefix(prefix) {
			if txn.Len() == MaxLeftovers {
				revision, err := d.Commit(ctx, txn, records.ObjectKey(ref))
				return engine.Result{Revision: revision, After: time.Millisecond}, err
			}
			txn.Delete(record.Key)
		}
	}
	txn.Delete(records.ObjectKey(ref)).Delete(records.StatusKey(ref)).Delete(records.ImageKey(ref)).Delete(records.UnansweredKey(ref)).
		Delete(records.MovesKey(ref)).Delete(records.AutoscaleKey(ref)).Delete(records.LabKey(ref))
	if claim := s.NameOwner(ref); claim.Exists() && *claim.Value == ref {
		key := records.NameKey(ref)
		txn.If(key, claim.Modified).Delete(key)
	}
	revision, err := d.Commit(ctx, txn, records.ObjectKey(ref))
	if err == nil {
		d.Logger.Info("deleted", "object", ref.String())
	}
	return engine.Result{Revision: revision}, err
}
