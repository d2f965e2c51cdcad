package sink

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	core "tend.dev/tend/internal/core/sink"
	"tend.dev/tend/internal/core/webhook"
)

func toMail() api.SinkSpec {
	return api.SinkSpec{Mail: &api.SinkMail{Host: "mail.example", From: "tend@example.org",
		To: []string{"ops@example.org"}}}
}

func (h *harness) subjects() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, m := range h.mails {
		out = append(out, m.Subject)
	}
	return strings.Join(out, " | ")
}

// TestPeopleGetOneMessageForACause: not one for each event, also over a restart; then one that says it is resolved.
func TestPeopleGetOneMessageForACause(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.sink("ops", 1, toMail())
		h.happen("web")
		h.becomes("web", "NoNode")
		h.after(5 * time.Second)
		h.stop() // between the failure and its message
		h.start(h.Context())
		h.after(time.Minute)
		if got := h.subjects(); got != "deployment prod/web failed: NoNode" {
			t.Fatalf("sent %s", got)
		}
		h.stop()
		h.start(h.Context())
		h.becomes("web", "Paused") // another cause of the same object
		h.becomes("web", "NoNode")
		h.after(2 * time.Minute)
		if got := h.subjects(); got != "deployment prod/web failed: NoNode | deployment prod/web failed: Paused" {
			t.Errorf("sent %s", got)
		}
		h.becomes("web", "")
		h.after(2 * time.Minute)
		if got := h.subjects(); !strings.HasSuffix(got, "Paused | 2 objects recovered") {
			t.Errorf("sent %s", got)
		}
		if p := h.progress("ops"); p.Sent != 3 || !strings.Contains(h.mails[0].Text, "because") ||
			!strings.Contains(h.mails[0].Text, "tend describe deployment prod/web") {
			t.Errorf("sent %d: %s", p.Sent, h.mails[0].Text)
		}
	})
}

// TestAStormIsOneMessage.
func TestAStormIsOneMessage(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.sink("ops", 1, toMail())
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
		h.happen(names...)
		for _, name := range names {
			h.becomes(name, "NodeDown")
		}
		h.after(time.Hour)
		if got := h.subjects(); got != "12 objects failed" || !strings.Contains(h.mails[0].Text, "and 2 more") {
			t.Errorf("sent %s", got)
		}
	})
}

// TestAMessageIsTriedAgain: what happens meanwhile is part of the next one.
func TestAMessageIsTriedAgain(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["ntfy.sh"] = func(_ context.Context, nth int) webhook.Answer {
			return webhook.Answer{Status: map[bool]int{true: 503, false: 200}[nth <= 5]}
		}
		h.sink("phone", 1, api.SinkSpec{Ntfy: &api.SinkNtfy{Topic: "ops"}})
		h.happen("a", "b")
		h.becomes("a", "NoNode")
		h.after(20 * time.Second)
		h.becomes("b", "NoNode")
		h.after(5 * time.Minute)
		if n := len(h.calls("ntfy.sh")); n != 7 {
			t.Errorf("%d attempts: five failed, and two messages", n)
		}
		if p := h.progress("phone"); p.Sent != 2 || p.Failed != 5 || p.Dead != 0 || len(p.Causes.Open) != 2 {
			t.Errorf("the progress is %+v", p)
		}
	})
}

// mailedTo returns the subjects that an address got.
func (h *harness) mailedTo(address string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, m := range h.mails {
		if m.To[0] == address {
			out = append(out, m.Subject)
		}
	}
	return strings.Join(out, " | ")
}

func (h *harness) setMailbox(answers map[string]core.Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mailbox = answers
}

// TestARefusedAddressLosesNoOthersMails: the others get each message, once, also over a restart; the condition names
// the address and what it lost, until it takes mail again.
func TestARefusedAddressLosesNoOthersMails(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.setMailbox(map[string]core.Answer{
			"gone@example.org": {Final: true, Err: errors.New("550 no such address")},
			"full@example.org": {Err: errors.New("452 full")},
		})
		spec := toMail()
		spec.Mail.To = []string{"gone@example.org", "full@example.org", "ops@example.org"}
		h.sink("ops", 1, spec)
		h.happen("web", "api")
		h.becomes("web", "NoNode")
		h.after(time.Minute)
		h.stop()
		h.start(h.Context())
		h.after(time.Minute)
		if got := h.mailedTo("ops@example.org"); got != "deployment prod/web failed: NoNode" {
			t.Errorf("the one that takes mail got %s", got)
		}
		if got := h.condition("ops", api.ConditionReady); got != "False SinkFailing" {
			t.Errorf("while one is tried again it is %s", got)
		}
		h.setMailbox(map[string]core.Answer{"gone@example.org": {Final: true, Err: errors.New("550 no such address")}})
		h.after(10 * time.Minute)
		h.becomes("api", "NoNode")
		h.after(10 * time.Minute)
		const both = "deployment prod/web failed: NoNode | deployment prod/api failed: NoNode"
		if full, ops := h.mailedTo("full@example.org"), h.mailedTo("ops@example.org"); full != both || ops != both {
			t.Errorf("they got %s; %s", full, ops)
		}
		degraded := h.conditionOf("ops", api.ConditionDegraded)
		if degraded.Reason != api.ReasonAddressRefused || degraded.Status != api.ConditionTrue ||
			h.condition("ops", api.ConditionReady) != "True Delivering" ||
			degraded.Message != "2 messages to gone@example.org lost: 550 no such address" ||
			!strings.Contains(degraded.Next, "mail.to") {
			t.Errorf("the condition is %+v", degraded)
		}
		if p := h.progress("ops"); p.Sent != 4 || p.Dead != 2 {
			t.Errorf("the progress is %+v", p)
		}
		h.setMailbox(nil)
		h.becomes("web", "")
		h.becomes("api", "")
		h.after(10 * time.Minute)
		if got := h.condition("ops", api.ConditionDegraded); got != "False AsExpected" ||
			h.mailedTo("gone@example.org") != "2 objects recovered" {
			t.Errorf("once the address takes mail it is %s", got)
		}
	})
}

// TestNoAddressTakesMail: then the sink is not ready.
func TestNoAddressTakesMail(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.setMailbox(map[string]core.Answer{"ops@example.org": {Final: true, Err: errors.New("550 no such address")}})
		h.sink("ops", 1, toMail())
		h.happen("web")
		h.becomes("web", "NoNode")
		h.after(time.Minute)
		if got := h.condition("ops", api.ConditionReady); got != "False AddressRefused" {
			t.Errorf("it is %s", got)
		}
		spec := toMail()
		spec.Mail.To = []string{"other@example.org"}
		h.sink("ops", 2, spec)
		h.after(time.Minute)
		if got := h.condition("ops", api.ConditionReady); got != "True Delivering" {
			t.Errorf("after a change it is %s", got)
		}
	})
}

// TestASinkSendsNoMessageAboutItself, but about another one.
func TestASinkSendsNoMessageAboutItself(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.receive["dead.example"] = answers(503)
		h.receive["hooks.example"] = answers(503)
		h.sink("ops", 1, toMail())
		h.sink("dead", 1, toHTTP("dead.example"))
		h.happen("a")
		h.after(5 * time.Minute)
		if got := h.subjects(); got != "sink dead failed: SinkFailing" {
			t.Errorf("sent %s", got)
		}
	})
}

// TestProgressStaysSmall: whatever fails.
func TestProgressStaysSmall(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.sink("ops", 1, toMail())
		for i := range 250 {
			name := "w" + string(rune('a'+i/26)) + string(rune('a'+i%26))
			h.happen(name)
			h.becomes(name, strings.Repeat("R", 100))
		}
		h.after(time.Minute)
		raw, err := json.Marshal(h.progress("ops"))
		if err != nil || len(raw) > 128<<10 {
			t.Errorf("%d bytes, %v", len(raw), err)
		}
		if got := h.subjects(); got != "250 objects failed" {
			t.Errorf("sent %s", got)
		}
	})
}
