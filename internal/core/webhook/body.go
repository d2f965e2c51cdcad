package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/reference"
)

// body returns the hook's own body, else its file, else every token of the event. A file is literal: no reference is
// replaced in it.
func (c Call) body() ([]byte, error) {
	tokens := replacer(c.Delivery.Tokens)
	switch {
	case len(c.Hook.Body) > 0:
		filled, err := fill(map[string]any(c.Hook.Body), func(text string) (string, error) {
			return reference.ExpandAround(text, c.Spaces, tokens.Replace)
		})
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		return encode(filled)
	case c.File != nil:
		var template any
		decoder := json.NewDecoder(bytes.NewReader(c.File))
		decoder.UseNumber()
		if err := decoder.Decode(&template); err != nil {
			return nil, fmt.Errorf("%s is not JSON: %w", c.Hook.File, err)
		}
		filled, err := fill(template, func(text string) (string, error) { return tokens.Replace(text), nil })
		if err != nil {
			return nil, err
		}
		return encode(filled)
	}
	return encode(defaults(c.Delivery))
}

func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

var (
	deployKeys = []string{"kind", "scope", "name", "release_id", "image", "status", "started_at", "completed_at", "error"}
	probeKeys  = []string{"kind", "scope", "name", "status", "pod", "probe", "transition", "transition_id",
		"reason", "timestamp"}
)

// defaults returns the body of a hook that declares none.
func defaults(delivery api.Delivery) map[string]string {
	keys := deployKeys
	if strings.HasPrefix(delivery.Hook, "on_probe.") {
		keys = probeKeys
	}
	out := map[string]string{}
	for _, key := range keys {
		out[key] = delivery.Tokens[key]
	}
	return out
}

// Tokens are the names that {{…}} may stand for. A token without a value for the event becomes empty; any other text
// stays as written.
var Tokens = []string{
	"kind", "scope", "name", "release_id", "image", "status", "error", "started_at", "completed_at",
	"pod", "probe", "transition", "transition_id", "reason", "timestamp",
}

func replacer(tokens map[string]string) *strings.Replacer {
	var pairs []string
	for _, name := range Tokens {
		pairs = append(pairs, "{{"+name+"}}", tokens[name])
	}
	return strings.NewReplacer(pairs...)
}

// fill applies change to every text of a JSON value. Keys stay: they are the template's shape.
func fill(value any, change func(string) (string, error)) (any, error) {
	var faults []error
	switch v := value.(type) {
	case string:
		return change(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			out[i], err = fill(v[i], change)
			faults = append(faults, err)
		}
		return out, errors.Join(faults...)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			var err error
			out[key], err = fill(v[key], change)
			faults = append(faults, err)
		}
		return out, errors.Join(faults...)
	}
	return value, nil
}
