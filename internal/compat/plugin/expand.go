package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"tend.dev/tend/api"
)

// ExpandCommand is the command that turns a macro into manifests.
const ExpandCommand = "expand"

// ExpandRequest is a macro in the form that the plugin gets on stdin.
type ExpandRequest struct {
	Kind  api.Kind        `json:"kind"`
	Scope string          `json:"scope,omitempty"`
	Name  string          `json:"name"`
	Spec  json.RawMessage `json:"spec"`
	// Config are the values of the macro's buckets, its own over its scope's. Left out if they are empty.
	Config map[string]string `json:"config,omitempty"`
}

// Manifest is a manifest that a plugin wrote.
type Manifest struct {
	Kind  string          `json:"kind"`
	Scope string          `json:"scope,omitempty"`
	Name  string          `json:"name"`
	Spec  json.RawMessage `json:"spec"`
	// Dotted is the plugin's own name for the object if that has dots, else empty.
	Dotted string `json:"-"`
}

// PlainName returns a name as it is stored. Plugins name jobs main.bk.b001, but in Tend's names a dot begins a replica.
func PlainName(name string) string { return strings.ReplaceAll(name, ".", "-") }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Manifest) UnmarshalJSON(raw []byte) error {
	type plain Manifest
	err := json.Unmarshal(raw, (*plain)(m))
	if plain := PlainName(m.Name); plain != m.Name {
		m.Name, m.Dotted = plain, m.Name
	}
	return err
}

// Expansion holds the objects that replace a macro, and the actions to perform before they are stored.
type Expansion struct {
	Manifests []Manifest `json:"manifests"`
	Actions   []Action   `json:"actions"`
}

// maxActions bounds the actions of one answer.
const maxActions = 1000

// Expand asks a plugin for the objects of a macro. The answer must depend only on the request, because a dry run asks
// too.
func (p *Plugin) Expand(ctx context.Context, request ExpandRequest, endpoint Endpoint, dry bool) (Expansion, error) {
	stdin := func(string) ([]byte, error) { return json.Marshal(request) }
	envelope, err := p.do(ctx, Call{Command: ExpandCommand, Stdin: stdin, Endpoint: endpoint, DryRun: dry})
	if err != nil {
		return Expansion{}, err
	}
	if envelope.Status == "" {
		return Expansion{}, p.nonsense(ExpandCommand, "stdout is not an envelope {\"status\",\"data\"}: %.200q",
			clipped(envelope.Text))
	}
	out, err := expansionOf(envelope.Data)
	if err != nil {
		return Expansion{}, p.nonsense(ExpandCommand, "%s", err)
	}
	switch {
	case len(out.Manifests) > api.MaxApplyObjects:
		return out, p.nonsense(ExpandCommand, "%d manifests are more than %d", len(out.Manifests), api.MaxApplyObjects)
	case len(out.Manifests)+len(out.Actions) == 0:
		return out, p.nonsense(ExpandCommand, "it holds no manifest")
	}
	return out, p.checkActions(ExpandCommand, out.Actions, false)
}

// expansionOf decodes an answer in one of its three forms: a manifest, a list of them, or an object with manifests and
// actions.
func expansionOf(data json.RawMessage) (Expansion, error) {
	data = bytes.TrimSpace(data)
	var out Expansion
	if bytes.HasPrefix(data, []byte("[")) {
		return out, json.Unmarshal(data, &out.Manifests)
	}
	var form struct {
		Kind *json.RawMessage `json:"kind"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return out, err
	}
	if form.Kind == nil {
		return out, json.Unmarshal(data, &out)
	}
	out.Manifests = make([]Manifest, 1)
	return out, json.Unmarshal(data, &out.Manifests[0])
}

func (p *Plugin) checkActions(command string, actions []Action, client bool) error {
	if len(actions) > maxActions {
		return p.nonsense(command, "%d actions are more than %d", len(actions), maxActions)
	}
	for i, action := range actions {
		if why := action.fault(client); why != "" {
			return p.nonsense(command, "actions[%d] (%.40q) %s", i, string(action.Type), why)
		}
	}
	return nil
}
