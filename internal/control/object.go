package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/nextstep"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
)

// Key returns the queue's key of an object.
func Key(ref api.Ref) reconciler.Key {
	return reconciler.Key{Kind: string(ref.Kind), Scope: ref.Scope, Name: ref.Name}
}

// Keys returns the keys of all objects of a kind, for the replay and the full pass.
func Keys(s records.Snapshot, kind api.Kind) []reconciler.Key {
	var out []reconciler.Key
	for object := range s.Objects(kind) {
		out = append(out, Key(object.Value.Ref()))
	}
	return out
}

// KeysAndStatuses returns the keys of all objects of a kind, and of those of which only the status is left.
func KeysAndStatuses(s records.Snapshot, kind api.Kind) []reconciler.Key {
	out := Keys(s, kind)
	for record := range s.Prefix(records.StatusPrefix + string(kind) + "/") {
		ref, _, ok := records.ParseRef(strings.TrimPrefix(record.Key, records.StatusPrefix))
		if ok && !s.Object(ref).Exists() {
			out = append(out, Key(ref))
		}
	}
	return out
}

// EngineStep is the next step to show while no node's container engine answers.
const EngineStep = nextstep.StartEngine + nextstep.Continues

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
