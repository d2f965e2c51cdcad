package webhook

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/reference"
)

// buckets answers ${config.…} from a table.
func buckets(values map[string]string) reference.Spaces {
	return reference.Spaces{api.SpaceConfig: func(r api.Reference) (string, error) {
		value, ok := values[r.Path[0]]
		if !ok {
			return "", errors.New(r.Text + ": there is no config value " + r.Path[0])
		}
		return value, nil
	}}
}

// TestReferences: a reference is replaced in the address, headers and texts of the body; a value is never taken for a
// token, nor a token for a reference.
func TestReferences(t *testing.T) {
	call := Call{
		Hook: api.Webhook{URL: "https://h.example/${config.PATH}", Headers: map[string]string{"X": "Bearer ${config.TOKEN}"},
			Body: api.Payload{"key": "{{name}} ${config.TOKEN}", "text": "{{error}}", "own": "$${config.TOKEN}"}},
		Delivery: api.Delivery{Tokens: map[string]string{"name": "web", "error": "it said ${config.TOKEN}"}},
		Spaces:   buckets(map[string]string{"PATH": "a/b", "TOKEN": "{{name}} ${config.PATH}"}),
	}
	r, err := call.Request()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"key":"web {{name}} ${config.PATH}","own":"${config.TOKEN}","text":"it said ${config.TOKEN}"}`
	if r.URL != "https://h.example/a/b" || string(r.Body) != want ||
		!strings.Contains(cmp.Diff(nil, r.Header), "Bearer {{name}} ${config.PATH}") {
		t.Errorf("%s %s %v", r.URL, r.Body, r.Header)
	}
}

// TestNoSecretInAnError: whatever a value does to a request, the reason says where and not what.
func TestNoSecretInAnError(t *testing.T) {
	const secret = "s3cret"
	for name, tc := range map[string]struct {
		reason string
		hook   api.Webhook
		want   string
	}{
		"no address":   {"the value isn't a URL", api.Webhook{URL: "${config.BAD}"}, "url is not an address"},
		"other scheme": {"it can't be called", api.Webhook{URL: "${config.FTP}"}, "url is not an address"},
		"line end": {"a header would end there",
			api.Webhook{URL: "http://a", Headers: map[string]string{"X": "${config.LINE}"}},
			"headers.X: what its references stand for holds a line end"},
		"missing": {"it says which", api.Webhook{URL: "http://a", Body: api.Payload{"a": []any{"${config.NONE}"}}},
			"body: ${config.NONE}: there is no config value NONE"},
	} {
		call := Call{Hook: tc.hook, Spaces: buckets(map[string]string{"BAD": secret, "FTP": "ftp://" + secret,
			"LINE": secret + "\n"})}
		_, err := call.Request()
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %s: %v", name, tc.reason, err)
		}
	}
}

// TestReceiver: the host is shown only if no config value determines it.
func TestReceiver(t *testing.T) {
	values := buckets(map[string]string{"URL": "https://s3cret.example:8443/x", "HOST": "s3cret", "PATH": "s3cret"})
	for address, want := range map[string]string{
		"https://h.example/${config.PATH}":   "h.example",
		"https://h.example?t=${config.PATH}": "h.example",
		"${config.URL}":                      "the receiver",
		"https://${config.HOST}.example/x":   "the receiver",
		"https://u:${config.PATH}@h.example": "the receiver",
	} {
		r, err := Call{Hook: api.Webhook{URL: address}, Spaces: values}.Request()
		if err != nil || r.Receiver() != want {
			t.Errorf("%s: %s, %v; want %s", address, r.Receiver(), err, want)
		}
		if said := r.Blot("lookup " + r.Host() + ": no such host"); strings.Contains(said, "s3cret") {
			t.Errorf("%s: %s", address, said)
		}
	}
}
