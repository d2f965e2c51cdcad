package daemon

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/messenger/messengertest"
	"tend.dev/tend/internal/test/fault"
)

// collector is a receiver of events that checks the requests, with the libraries of the standards' authors.
type collector struct {
	*httptest.Server
	t        *testing.T
	verifier *standard.Webhook

	mu sync.Mutex
	// first holds the events in the order of their first arrival; times counts the arrivals of each, by the id in its
	// header.
	first []string
	times map[string]int
	ids   map[string]string
	down  bool
}

func newCollector(t *testing.T) (c *collector, secret string) {
	t.Helper()
	secret = "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	verifier, err := standard.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	c = &collector{t: t, verifier: verifier, times: map[string]int{}, ids: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c, secret
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, _ := io.ReadAll(r.Body)
	if err := c.verifier.Verify(body, r.Header); err != nil {
		c.t.Errorf("the signature: %v", err)
	}
	var e event.Event
	if err := json.Unmarshal(body, &e); err != nil || e.Validate() != nil ||
		r.Header.Get("Content-Type") != "application/cloudevents+json" {
		c.t.Errorf("%s is not a CloudEvent: %v, %v", body, err, e.Validate())
	}
	id := r.Header.Get("Webhook-Id")
	if was, ok := c.ids[e.ID()]; ok && was != id {
		c.t.Errorf("the event %s came with the ids %s and %s", e.ID(), was, id)
	}
	c.ids[e.ID()] = id
	if c.times[id]++; c.times[id] == 1 {
		c.first = append(c.first, e.Type()+" "+e.Subject())
	}
}

// came returns the events of first, in order, and how many came more than once.
func (c *collector) came() (first string, twice int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.times {
		if n > 1 {
			twice++
		}
	}
	return strings.Join(c.first, ", "), twice
}

func (c *collector) setDown(down bool) { c.mu.Lock(); c.down = down; c.mu.Unlock() }

func sinkOf(t *testing.T, name string, spec api.SinkSpec) api.Object {
	t.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return api.Object{Kind: api.KindSink, Scope: api.Unscoped, Name: name, Spec: raw}
}

func (r *running) applyAll(objects ...api.Object) {
	r.t.Helper()
	if _, err := r.client.Apply(r.t.Context(), api.ApplyRequest{Objects: objects}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *running) sinkStatus(name string) api.SinkStatus {
	object, err := r.client.Object(r.t.Context(), api.Ref{Kind: api.KindSink, Scope: api.Unscoped, Name: name})
	if err != nil {
		return api.SinkStatus{}
	}
	status, _ := api.DecodeStatus[api.SinkStatus](object)
	return status
}

// create applies deployments of no pods, and returns the events that their creation makes.
func (r *running) create(names ...string) (events []string) {
	r.t.Helper()
	for _, name := range names {
		none := 0
		r.applyAll(manifestOf(api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name},
			func(s *api.DeploymentSpec) { s.Replicas = &none }))
		events = append(events, "deployment.created prod/"+name)
	}
	return events
}

// TestSinksAcrossCrashes: over a real store, a server that dies right after sending, one that dies while a receiver is
// down, and one that runs to the end deliver everything in order. What comes twice has the same id.
func TestSinksAcrossCrashes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	onEtcd := func(faults *fault.Points) *running {
		return m.startWith(func(o *Options) { o.Store, o.AroundStore, o.AroundRuntime = nil, faults.Store, faults.Runtime })
	}
	receiver, secret := newCollector(t)
	created := &api.SinkFilter{Types: []string{"*.created"}, Kinds: []string{"deployment"}}

	faults := fault.New(fault.Options{})
	r := onEtcd(faults).ready()
	r.setConfig(api.Ref{Scope: "ops", Name: "sinks"}, map[string]string{"SIGNING": secret})
	r.applyAll(
		sinkOf(t, "in", api.SinkSpec{Filter: created,
			HTTP: &api.SinkHTTP{URL: receiver.URL + "/events", Secrets: []string{"${config.ops.sinks.SIGNING}"}}}),
		sinkOf(t, "dead", api.SinkSpec{Filter: created, HTTP: &api.SinkHTTP{URL: "http://127.0.0.1:1"}}),
	)
	want := r.create("a", "b", "c")
	r.untilWithin(patience, "the first events came",
		func() bool { first, _ := receiver.came(); return first == strings.Join(want, ", ") })
	faults.End() // the last messages are hardly stored by now
	_ = r.stop()

	receiver.setDown(true)
	faults = fault.New(fault.Options{})
	r = onEtcd(faults).ready()
	want = append(want, r.create("d", "e")...)
	r.untilWithin(patience, "an attempt failed",
		func() bool { p := r.sinkStatus("in").Progress; return p != nil && p.Trying != nil })
	faults.End()
	_ = r.stop()

	receiver.setDown(false)
	r = onEtcd(nil).ready()
	want = append(want, r.create("f")...)
	r.untilWithin(patience, "all events came",
		func() bool { first, _ := receiver.came(); return first == strings.Join(want, ", ") })
	r.untilWithin(patience, "the dead sink's status says so", func() bool {
		c := api.FindCondition(r.sinkStatus("dead").Conditions, api.ConditionReady)
		return c != nil && c.Reason == api.ReasonSinkFailing
	})
	if status := r.sinkStatus("in"); status.Receiver == "" || strings.Contains(status.Receiver, "events") {
		t.Errorf("the receiver is shown as %q", status.Receiver)
	}
	first, twice := receiver.came()
	t.Logf("%d came twice of %s", twice, first)

	test, err := r.client.TestSink(t.Context(), "in")
	if err != nil || !test.Delivered || test.Answer != "the receiver answered 200" {
		t.Errorf("the test: %+v, %v", test, err)
	}
	if test, err = r.client.TestSink(t.Context(), "dead"); err != nil || test.Delivered ||
		!strings.Contains(test.Answer, "refused") {
		t.Errorf("the test of the dead one: %+v, %v", test, err)
	}
	if _, err = r.client.TestSink(t.Context(), "none"); err == nil {
		t.Error("there is no sink of that name")
	}
}

// TestMailAboutAFailure: a deployment whose image doesn't exist sends one mail, encrypted and with the password of a
// bucket.
func TestMailAboutAFailure(t *testing.T) {
	server := messengertest.New(t, api.MailStartTLS)
	r := newMachine(t).startWith(func(o *Options) { o.MailRoots = server.Roots }).ready()
	r.setConfig(api.Ref{Scope: "ops", Name: "sinks"}, map[string]string{"PASSWORD": "s3cret"})
	r.applyAll(sinkOf(t, "ops", api.SinkSpec{
		Mail: &api.SinkMail{Host: "127.0.0.1", Port: server.Port, User: "tend", Password: "${config.ops.sinks.PASSWORD}",
			From: "tend@example.org", To: []string{"ops@example.org"}},
		Message: &api.SinkMessage{Gather: "10ms", Subject: "{{.Scope}}/{{.Name}}: {{.Reason}}"},
	}))
	r.applyAll(manifestOf(web, nil))
	var mail messengertest.Mail
	r.untilWithin(patience, "a mail with the reason came", func() bool {
		return slices.ContainsFunc(server.Mails(), func(m messengertest.Mail) bool {
			mail = m
			return strings.Contains(m.Data, "Subject: prod/web: ImageNotFound")
		})
	})
	if mail.Password != "s3cret" || !mail.Encrypted || !strings.Contains(mail.Data, "tend describe deployment prod/web") {
		t.Errorf("the mail is %+v", mail)
	}
	r.untilWithin(patience, "the sink has counted it",
		func() bool { p := r.sinkStatus("ops").Progress; return p != nil && p.Sent >= 1 })
}
