package sink

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	core "tend.dev/tend/internal/core/sink"
	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/store/records"
)

// TestASinkIsConfinedByWhoSetItsAddress: admins alone declare sinks, but a deployer may have set the value that the
// address is. What a library sends without a bound isn't sent at all.
func TestASinkIsConfinedByWhoSetItsAddress(t *testing.T) {
	const url = "${config.shop.sinks.URL}"
	for name, tc := range map[string]struct {
		spec api.SinkSpec
		bare api.SinkSpec // without a reference in the address
	}{
		"http": {api.SinkSpec{HTTP: &api.SinkHTTP{URL: url}}, api.SinkSpec{HTTP: &api.SinkHTTP{URL: "https://in.example",
			Headers: map[string]string{"Authorization": url}}}},
		"slack": {api.SinkSpec{Slack: &api.SinkSlack{URL: url}}, api.SinkSpec{Slack: &api.SinkSlack{URL: "https://in.example"}}},
		"ntfy": {api.SinkSpec{Ntfy: &api.SinkNtfy{URL: url, Topic: "t"}},
			api.SinkSpec{Ntfy: &api.SinkNtfy{URL: "https://in.example", Topic: url}}},
		"shoutrrr": {api.SinkSpec{Shoutrrr: &api.SinkShoutrrr{URL: url}},
			api.SinkSpec{Shoutrrr: &api.SinkShoutrrr{URL: "generic://in.example"}}},
	} {
		for _, marked := range []bool{false, true} {
			for of, spec := range map[string]api.SinkSpec{"by config": tc.spec, "bare": tc.bare} {
				t.Run(fmt.Sprint(name, of, marked), func(t *testing.T) {
					inHarness(t, func(h *harness) {
						key := records.ConfigAppPrefix("shop", "sinks") + "URL"
						h.write(func(txn *records.Txn) {
							if txn.Put(key, []byte("https://in.example/in")); marked {
								txn.Put(records.ConfinedKey(key), "true")
							}
						})
						sent := ""
						sender := NewSender(h.deps(), Effects{
							Call: func(_ context.Context, r webhook.Request) webhook.Answer {
								sent = fmt.Sprint("confined ", r.Confined)
								return webhook.Answer{Status: 200}
							},
							Relay: func(context.Context, core.Relay) core.Answer {
								sent = "confined false"
								return core.Answer{Status: 200}
							},
						}, source)
						object := api.Object{Kind: api.KindSink, Scope: api.Unscoped, Name: "in"}
						outcome, _ := sender.Attempt(h.Context(), object.Ref(), spec,
							testContent(object, spec, source, sender.deps.Now()))
						want := fmt.Sprint("confined ", marked && of == "by config")
						if spec.Shoutrrr != nil && marked && of == "by config" {
							want = ""
							if outcome.Err == nil || !strings.Contains(outcome.Err.Error(), "tend config set shop/sinks URL=") {
								t.Errorf("the error doesn't name the key: %v", outcome.Err)
							}
						}
						if sent != want {
							t.Errorf("sent %q, want %q", sent, want)
						}
					})
				})
			}
		}
	}
}

func (h *harness) deps() control.Deps { return control.Deps{Snapshot: h.snapshot, Sealer: plainly{}} }
