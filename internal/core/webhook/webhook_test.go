package webhook

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestBodies(t *testing.T) {
	tokens := map[string]string{
		"kind": "deployment", "scope": "prod", "name": `w"e<b`, "release_id": "v2", "image": "web:2", "status": "failed",
		"error": "exit 1\nboom",
		"pod":   "prod-web.1", "probe": "readiness", "transition": "failure", "transition_id": "t",
		"reason": "refused", "timestamp": "now",
	}
	cases := map[string]struct {
		reason, hook, webhook, file, want string
	}{
		"deploy": {"without a body every token of a rollout is sent", "on_deploy.failure[0]", `{}`, "",
			`{"completed_at":"","error":"exit 1\nboom","image":"web:2","kind":"deployment","name":"w\"e<b","release_id":"v2","scope":"prod","started_at":"","status":"failed"}`},
		"probe": {"without a body every token of a probe is sent", "on_probe.failure[0]", `{}`, "",
			`{"kind":"deployment","name":"w\"e<b","pod":"prod-web.1","probe":"readiness","reason":"refused","scope":"prod","status":"failed","timestamp":"now","transition":"failure","transition_id":"t"}`},
		"body": {"tokens are replaced in texts at any depth, and quoted as JSON wants", "on_deploy.failure[0]",
			`{"body":{"text":"{{name}}: {{error}}","n":12345678901234567890,"yes":true,"none":null,"blocks":[{"t":"{{scope}}/{{nothing}}"}],"{{name}}":"{{ name }}{{started_at}}"}}`, "",
			`{"blocks":[{"t":"prod/{{nothing}}"}],"n":12345678901234567890,"none":null,"text":"w\"e<b: exit 1\nboom","yes":true,"{{name}}":"{{ name }}"}`},
		"file": {"a file is a body", "on_deploy.failure[0]", `{"file":"${asset.a.b}"}`, `["{{name}}", 1]`, `["w\"e<b",1]`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var hook api.Webhook
			if err := json.Unmarshal([]byte(tc.webhook), &hook); err != nil {
				t.Fatal(err)
			}
			hook.URL = "https://example.org/x"
			var file []byte
			if tc.file != "" {
				file = []byte(tc.file)
			}
			r, err := Call{Hook: hook, Delivery: api.Delivery{Hook: tc.hook, Tokens: tokens}, File: file}.Request()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(r.Body)); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
	if _, err := (Call{Hook: api.Webhook{URL: "http://a", File: "${asset.a.b}"},
		File: []byte("no json")}).Request(); err == nil || !strings.Contains(err.Error(), "${asset.a.b}") {
		t.Errorf("got %v", err)
	}
}

// TestTokensAreNotReplacedTwice: the value of a token is literal text, even if it contains a token.
func TestTokensAreNotReplacedTwice(t *testing.T) {
	hook := api.Webhook{URL: "http://a", Body: api.Payload{"a": "{{error}}"}}
	r, err := Call{Hook: hook, Delivery: api.Delivery{Tokens: map[string]string{"error": "{{name}}",
		"name": "web"}}}.Request()
	if err != nil || string(r.Body) != `{"a":"{{name}}"}` {
		t.Errorf("got %s, %v", r.Body, err)
	}
}

func TestHeaders(t *testing.T) {
	hook := api.Webhook{URL: "https://example.org:8443/secret", Method: "PUT",
		Headers: map[string]string{"content-type": "text/plain", "user-agent": "mine", "X-A": "b"}}
	r, err := Call{Hook: hook, Key: "uid-d", Agent: "tend-webhook/1"}.Request()
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{}
	for _, field := range r.Header {
		last[strings.ToLower(field.Name)] = field.Value
	}
	want := map[string]string{"content-type": "text/plain", "user-agent": "tend-webhook/1", "x-a": "b",
		"idempotency-key": "uid-d"}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Error(diff)
	}
	if r.Method != "PUT" || r.Host() != "example.org:8443" {
		t.Errorf("%s to %s", r.Method, r.Host())
	}
}

// TestNext: a delivery moves forward, ends after four attempts at most, and says why it failed.
func TestNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, now, attempts := api.Delivery{State: api.DeliveryPending}, epoch, 0
		for d.State == api.DeliveryPending {
			answer := Answer{Status: rapid.SampledFrom([]int{0, 200, 204, 302, 400, 408, 410, 425, 429, 500, 503}).Draw(t,
				"status")}
			if answer.Status == 0 {
				answer.Err, answer.Final = errors.New("refused"), rapid.Bool().Draw(t, "final")
			}
			spread := rapid.Float64Range(0, 1).Draw(t, "spread")
			next := Next(d, answer, now, spread)
			attempts++
			switch {
			case next.Attempts != attempts || attempts > Attempts:
				t.Fatalf("%d attempts after %d", next.Attempts, attempts)
			case next.State == api.DeliveryPending &&
				(next.NextTryAt.Sub(now) < waits[attempts-1] || next.NextTryAt.Sub(now) > waits[attempts-1]*12/10):
				t.Fatalf("the wait after attempt %d is %s", attempts, next.NextTryAt.Sub(now))
			case next.State == api.DeliveryDelivered && (answer.Status < 200 || answer.Status > 299 || next.Error != ""):
				t.Fatalf("%d counts as delivered", answer.Status)
			case next.State == api.DeliveryFailed && (next.Error == "" || next.EndedAt.IsZero()):
				t.Fatalf("it failed without a reason: %+v", next)
			case next.State == api.DeliveryFailed && attempts < Attempts &&
				(answer.Status >= 500 || answer.Status == 429 || answer.Status == 408):
				t.Fatalf("%d is not tried again", answer.Status)
			}
			d, now = next, next.NextTryAt
		}
	})
}
