package sink

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/notify"
	"tend.dev/tend/internal/core/reference"
)

var now = time.Now()

func anEvent(kind api.Kind, action api.EventAction, name string) api.Event {
	data, _ := json.Marshal(api.EventData{UID: "uid-" + name, Kind: kind, Scope: "prod", Name: name, Reason: "NoNode",
		Message: "no node fits"})
	return api.Event{
		SpecVersion: api.EventSpecVersion, ID: "12.0", Source: "/tend/clusters/c1", Type: api.EventType(kind, action),
		Subject: "prod/" + name, Time: now,
		DataContentType: "application/json", Data: data,
	}
}

func secret(fill byte) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(fill), 32)))
}

// config resolves ${config.ops.hooks.KEY} from a map.
func config(values map[string]string) reference.Spaces {
	return reference.Spaces{api.SpaceConfig: func(r api.Reference) (string, error) {
		value, ok := values[r.Path[len(r.Path)-1]]
		if !ok {
			return "", errors.New(r.Text + " is missing")
		}
		return value, nil
	}}
}

func ref(key string) string { return "${config.ops.hooks." + key + "}" }

// TestAnEventIsACloudEvent: by the validation of the CloudEvents SDK, and with the signature that the library of
// Standard Webhooks verifies, by either secret of a rotation.
func TestAnEventIsACloudEvent(t *testing.T) {
	e := anEvent(api.KindDeployment, api.EventCreated, "web")
	b := Builder{Now: now, Agent: "tend/1", Spec: api.SinkSpec{HTTP: &api.SinkHTTP{
		URL: "https://in.example/events", Headers: map[string]string{"Authorization": "Bearer " + ref("TOKEN")},
		Secrets: []string{ref("NEXT"), ref("OLD")},
	}}, Spaces: config(map[string]string{"TOKEN": "t0ken", "NEXT": secret('n'), "OLD": secret('o')})}
	p, err := b.Build(Content{Event: &e})
	if err != nil {
		t.Fatal(err)
	}
	var read event.Event
	if err := json.Unmarshal(p.Request.Body, &read); err != nil || read.Validate() != nil {
		t.Fatalf("%s is not a CloudEvent: %v, %v", p.Request.Body, err, read.Validate())
	}
	if read.ID() != "12.0" || read.Type() != "deployment.created" || read.Subject() != "prod/web" ||
		read.Source() != "/tend/clusters/c1" || !json.Valid(read.Data()) {
		t.Errorf("read %s", read)
	}
	header := http.Header{}
	for _, field := range p.Request.Header {
		header.Set(field.Name, field.Value)
	}
	if header.Get("Content-Type") != "application/cloudevents+json" || header.Get("Authorization") != "Bearer t0ken" ||
		p.Receiver != "in.example" {
		t.Errorf("sent with %v to %s", header, p.Receiver)
	}
	for fill, valid := range map[byte]bool{'n': true, 'o': true, 'x': false} {
		verifier, err := standard.NewWebhook(secret(fill))
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(p.Request.Body, header); (err == nil) != valid {
			t.Errorf("the secret of %c verifies: %v", fill, err)
		}
		if err := verifier.Verify(append(p.Request.Body, ' '), header); err == nil {
			t.Errorf("the secret of %c verifies another body", fill)
		}
	}
	again, _ := b.Build(Content{Event: &e})
	if again.Request.Header[len(again.Request.Header)-2] != p.Request.Header[len(p.Request.Header)-2] {
		t.Error("the same event has another id")
	}
}

func TestMissingAndBadSecrets(t *testing.T) {
	e := anEvent(api.KindDeployment, api.EventCreated, "web")
	for value, want := range map[string]string{"": "is missing", "hunter2": "whsec_", "whsec_AAAA": "24 to 64",
		"whsec_-": "whsec_"} {
		values := map[string]string{}
		if value != "" {
			values["S"] = value
		}
		_, err := Builder{Now: now, Spec: api.SinkSpec{HTTP: &api.SinkHTTP{URL: "https://in.example",
			Secrets: []string{ref("S")}}}, Spaces: config(values)}.Build(Content{Event: &e})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") ||
			strings.Contains(err.Error(), "AAAA") {
			t.Errorf("%q: %v, want %q", value, err, want)
		}
	}
}

func TestWants(t *testing.T) {
	created, failed := anEvent(api.KindDeployment, api.EventCreated, "web"),
		anEvent(api.KindJob, api.EventFailed, "web-report")
	for name, tc := range map[string]struct {
		filter          *api.SinkFilter
		created, failed bool
	}{
		"none":        {nil, true, true},
		"empty":       {&api.SinkFilter{}, true, true},
		"failures":    {&api.SinkFilter{Failures: true}, false, true},
		"a type":      {&api.SinkFilter{Types: []string{"*.created"}}, true, false},
		"types":       {&api.SinkFilter{Types: []string{"job.*", "deployment.created"}}, true, true},
		"a kind":      {&api.SinkFilter{Kinds: []string{"job"}}, false, true},
		"a scope":     {&api.SinkFilter{Scopes: []string{"staging"}}, false, false},
		"names":       {&api.SinkFilter{Names: []string{"web"}}, true, false},
		"a pattern":   {&api.SinkFilter{Names: []string{"w*"}}, true, true},
		"middle":      {&api.SinkFilter{Names: []string{"w*-*t"}}, false, true},
		"both of two": {&api.SinkFilter{Names: []string{"w*"}, Kinds: []string{"deployment"}}, true, false},
		"no overlap":  {&api.SinkFilter{Names: []string{"web*b"}}, false, false},
	} {
		if got := Wants(tc.filter, "me", created, DataOf(created)); got != tc.created {
			t.Errorf("%s chooses the created one: %t", name, got)
		}
		if got := Wants(tc.filter, "me", failed, DataOf(failed)); got != tc.failed {
			t.Errorf("%s chooses the failed one: %t", name, got)
		}
	}
}

// TestASinkIsNotSentItsOwnStatus: each event that it is sent changes it. What users do with it, it is sent.
func TestASinkIsNotSentItsOwnStatus(t *testing.T) {
	for _, action := range api.EventActions {
		own := action == api.EventStatusUpdated || action == api.EventReconciled || action == api.EventFailed
		e := anEvent(api.KindSink, action, "web")
		if got := Wants(nil, "uid-web", e, DataOf(e)); got == own {
			t.Errorf("%s of its own: %t", action, got)
		}
		if !Wants(nil, "uid-other", e, DataOf(e)) {
			t.Errorf("%s of another sink is left out", action)
		}
	}
}

func TestSignals(t *testing.T) {
	for action, want := range map[api.EventAction]string{
		api.EventFailed: "0", api.EventReconciled: "1", api.EventDeleted: "2", api.EventFinalized: "2", api.EventUpdated: "",
		api.EventStatusUpdated: "",
	} {
		s, ok := SignalOf(nil, "me", anEvent(api.KindDeployment, action, "web"))
		if ok != (want != "") || ok && string(rune('0'+int(s.What))) != want {
			t.Errorf("%s: %v %t", action, s.What, ok)
		}
	}
	if _, ok := SignalOf(nil, "uid-web", anEvent(api.KindSink, api.EventFailed, "web")); ok {
		t.Error("a sink sends messages about itself")
	}
}

// TestMessages: what services for people are sent, without a secret in what may be shown.
func TestMessages(t *testing.T) {
	c := api.SinkCause{UID: "u", Kind: api.KindDeployment, Scope: "prod", Name: "web", Reason: "NoNode",
		Message: "<!channel> & co", ID: "12.0", Since: now}
	m := &notify.Message{ID: "12.0-1-0", Failed: []api.SinkCause{c}}
	spaces := config(map[string]string{"URL": "https://hooks.slack.example/T0/s3cret", "TOKEN": "tk_s3cret"})
	build := func(s api.SinkSpec, m *notify.Message) Parcel {
		t.Helper()
		p, err := Builder{Now: now, Spec: s, Spaces: spaces}.Build(Content{Message: m, Source: "/tend/clusters/c1"})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(p.Receiver, "s3cret") {
			t.Errorf("shows %s", p.Receiver)
		}
		return p
	}
	p := build(api.SinkSpec{Slack: &api.SinkSlack{URL: ref("URL")}}, m)
	if body := string(p.Request.Body); !strings.Contains(body, `deployment prod/web failed: NoNode`) ||
		strings.Contains(body, "<!channel>") {
		t.Errorf("Slack gets %s", body)
	}
	if body := string(p.Request.Body); strings.Count(body, "deployment prod/web failed: NoNode") != 1 ||
		!strings.Contains(body, "tend describe deployment prod/web") {
		t.Errorf("Slack shows the title above the text, and gets %s", body)
	}
	p = build(api.SinkSpec{Ntfy: &api.SinkNtfy{Topic: "ops", Token: ref("TOKEN")}}, m)
	var body struct {
		Topic, Title, Message string
		Priority              int
	}
	if err := json.Unmarshal(p.Request.Body, &body); err != nil || body.Topic != "ops" || body.Priority != ntfyHigh ||
		body.Title == "" || p.Request.URL != ntfyServer {
		t.Errorf("ntfy gets %s at %s", p.Request.Body, p.Request.URL)
	}
	p = build(api.SinkSpec{Ntfy: &api.SinkNtfy{Topic: "ops"}}, &notify.Message{Resolved: []api.SinkCause{c}})
	if _ = json.Unmarshal(p.Request.Body, &body); body.Priority != ntfyLow {
		t.Errorf("what recovered has priority %d", body.Priority)
	}
	p = build(api.SinkSpec{Ntfy: &api.SinkNtfy{Topic: "ops", Priority: 5}},
		&notify.Message{Test: "sink ops", Failed: []api.SinkCause{c}})
	if _ = json.Unmarshal(p.Request.Body, &body); body.Priority != ntfyLow ||
		strings.Contains(string(p.Request.Body), ntfyFailed) || !strings.HasPrefix(body.Title, "Test of sink ops") {
		t.Errorf("a test is sent as %s", p.Request.Body)
	}
	p = build(api.SinkSpec{Mail: &api.SinkMail{Host: "mail.example", User: "u", Password: ref("TOKEN"),
		From: "a@example.org", To: []string{"b@example.org"}}}, m)
	if p.Mail.Port != 587 || p.Mail.TLS != "starttls" || p.Mail.Password != "tk_s3cret" ||
		p.Mail.ID != MessageID("/tend/clusters/c1", "message 12.0-1-0") {
		t.Errorf("the mail is %+v", p.Mail)
	}
}

func TestJudge(t *testing.T) {
	for status, want := range map[int]Verdict{
		200: Delivered, 204: Delivered, 302: Retry, 400: Refused, 401: Retry, 403: Retry, 404: Retry, 408: Retry, 410: Gone,
		413: Refused, 422: Refused,
		425: Retry, 429: Retry, 500: Retry, 503: Retry, 0: Retry,
	} {
		if got := Judge(Answer{Status: status}); got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
	if Judge(Answer{Final: true, Err: errors.New("no address")}) != Refused {
		t.Error("what can't be sent is tried again")
	}
}

func TestWait(t *testing.T) {
	for attempts, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second,
		9: 256 * time.Second, 10: MaxWait, 1000: MaxWait} {
		if got := Wait(attempts, 0, 0); got != want {
			t.Errorf("after %d: %s, want %s", attempts, got, want)
		}
	}
	if got := Wait(1, time.Minute, 1); got != 72*time.Second {
		t.Errorf("asked for a minute: %s", got)
	}
	if got := Wait(1, time.Hour, 0); got != MaxWait {
		t.Errorf("asked for an hour: %s", got)
	}
}
