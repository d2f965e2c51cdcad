package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// Request is one call to make.
type Request struct {
	Method string
	URL    string
	// Header is set in this order: of two of one name the later counts.
	Header []Field
	Body   []byte
}

// Field is a header.
type Field struct{ Name, Value string }

// Host is what may be shown of where it goes.
func (r Request) Host() string {
	parsed, err := url.Parse(r.URL)
	if err != nil {
		return "?"
	}
	return parsed.Host
}

// Make builds the request of a delivery. file is what the hook's file holds, nil where it names none; key identifies the
// delivery to its receiver, whatever the attempt; agent is the User-Agent.
func Make(hook api.Webhook, delivery api.Delivery, file []byte, key, agent string) (Request, error) {
	body, err := payload(hook, delivery, file)
	if err != nil {
		return Request{}, err
	}
	r := Request{Method: hook.Method, URL: hook.URL, Header: []Field{{"Content-Type", "application/json"}}, Body: body}
	if r.Method == "" {
		r.Method = "POST"
	}
	for _, name := range slices.Sorted(maps.Keys(hook.Headers)) {
		r.Header = append(r.Header, Field{name, hook.Headers[name]})
	}
	r.Header = append(r.Header, Field{"User-Agent", agent}, Field{"Idempotency-Key", key})
	return r, nil
}

// payload is the body: the hook's own, else its file, else every token of the event.
func payload(hook api.Webhook, delivery api.Delivery, file []byte) ([]byte, error) {
	replace := replacer(delivery.Tokens)
	switch {
	case len(hook.Body) > 0:
		return encode(fill(map[string]any(hook.Body), replace))
	case file != nil:
		var template any
		decoder := json.NewDecoder(bytes.NewReader(file))
		decoder.UseNumber()
		if err := decoder.Decode(&template); err != nil {
			return nil, fmt.Errorf("%s is no JSON: %w", hook.File, err)
		}
		return encode(fill(template, replace))
	}
	return encode(defaults(delivery))
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
	probeKeys  = []string{"kind", "scope", "name", "status", "pod", "probe", "transition", "transition_id", "reason", "timestamp"}
)

// defaults is the body of a hook that declares none.
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

// Tokens are the names that {{…}} may stand for. One that says nothing about the event at hand becomes empty, and what is
// no token stays as it is written.
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

// fill replaces tokens in every text of a JSON value. Keys stay: they are the template's shape.
func fill(value any, replace *strings.Replacer) any {
	switch v := value.(type) {
	case string:
		return replace.Replace(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = fill(v[i], replace)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[key] = fill(v[key], replace)
		}
		return out
	}
	return value
}
