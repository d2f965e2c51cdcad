//go:build integration

package histories

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// The names in histories: objects are prod/<name>, config keys are those of the bucket settings.
const (
	scope  = "prod"
	bucket = "settings"
)

// isConfig reports whether a key is a config key; the others are objects.
func isConfig(key string) bool { return strings.ToUpper(key) == key }

// request returns the HTTP request of a call.
func (a asked) request() call {
	switch {
	case a.verb == apply:
		spec, _ := json.Marshal(map[string]any{"image": a.value, "replicas": a.replicas})
		return call{method: http.MethodPost, path: "/v1/apply", body: []api.Object{
			{Kind: api.KindDeployment, Scope: scope, Name: a.key, Spec: spec}}}
	case a.verb == scale:
		return call{method: http.MethodPost, path: "/v1/objects/deployment/" + scope + "/" + a.key + "/scale",
			query: url.Values{"replicas": {fmt.Sprint(a.replicas)}}}
	case a.verb == set:
		return call{method: http.MethodPost, path: "/v1/config", query: url.Values{"scope": {bucket}},
			body: api.ConfigRequest{Set: map[string]string{a.key: a.value}}}
	case a.verb == unset:
		return call{method: http.MethodPost, path: "/v1/config", query: url.Values{"scope": {bucket}},
			body: api.ConfigRequest{Unset: []string{a.key}}}
	case isConfig(a.key):
		return call{method: http.MethodGet, path: "/v1/config", query: url.Values{"scope": {bucket}, "key": {a.key}}}
	case a.verb == remove:
		return call{method: http.MethodDelete, path: "/v1/objects/deployment/" + scope + "/" + a.key}
	}
	return call{method: http.MethodGet, path: "/v1/objects/deployment/" + scope + "/" + a.key}
}

// understand decodes the reply to a call.
func (a asked) understand(r reply) (answered, error) {
	out := answered{answer: r.meaning(), before: -1}
	if out.answer != done {
		return out, nil
	}
	switch {
	case a.verb == apply:
		var result api.ApplyResult
		if err := json.Unmarshal(r.body, &result); err != nil || len(result.Objects) != 1 {
			return out, fmt.Errorf("the answer of an apply is %s: %w", r.body, err)
		}
		one := result.Objects[0]
		out.created, out.changed = one.Action == api.ActionCreated, one.Action != api.ActionUnchanged
		out.seen.generation, out.revision = one.Generation, one.Revision
		return out, nil
	case a.verb == scale:
		var result api.VerbResult
		err := json.Unmarshal(r.body, &result)
		out.changed, out.seen.generation, out.revision = result.Changed, result.Generation, result.Revision
		if result.PreviousReplicas != nil {
			out.before = *result.PreviousReplicas
		}
		return out, err
	case a.verb == set || a.verb == unset:
		var result api.ConfigResult
		err := json.Unmarshal(r.body, &result)
		out.created, out.changed = slices.Contains(result.Created, a.key), slices.Contains(result.Changed, a.key)
		return out, err
	case isConfig(a.key):
		var result api.ConfigResult
		err := json.Unmarshal(r.body, &result)
		if out.seen.there = result.Value != nil; out.seen.there {
			out.seen.value = *result.Value
		}
		return out, err
	case a.verb == remove:
		var result api.DeleteResult
		err := json.Unmarshal(r.body, &result)
		out.already, out.revision = result.Already, result.Revision
		return out, err
	}
	var object api.Object
	if err := json.Unmarshal(r.body, &object); err != nil {
		return out, err
	}
	out.seen = stateOf(object)
	return out, nil
}

// stateOf returns the state that an object shows.
func stateOf(object api.Object) state {
	var spec struct {
		Image    string `json:"image"`
		Replicas int    `json:"replicas"`
	}
	_ = json.Unmarshal(object.Spec, &spec)
	return state{there: true, deleting: object.Metadata.DeletedAt != nil, value: spec.Image, replicas: spec.Replicas,
		generation: object.Metadata.Generation, revision: object.Metadata.Revision}
}
