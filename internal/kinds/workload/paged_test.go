package workload

import (
	"encoding/json"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
	"tend.dev/tend/internal/core/notify"
	"tend.dev/tend/internal/core/sink"
	"tend.dev/tend/internal/store/records"
)

// message is the subject of what people get for the statuses that the controller has written since some commit.
func (l *harness) message(since int) string {
	l.Helper()
	set, known := notify.SettingsOf(nil), api.SinkCauses{}
	object := *l.snapshot().Object(web).Value
	object.Metadata.UID = "web's"
	var before json.RawMessage
	for i, txn := range l.commits {
		for _, op := range txn.Do {
			if op.Key != records.StatusKey(web) || op.Delete {
				continue
			}
			events := change.Status(object, before, op.Value)
			before = op.Value
			for j, e := range events {
				raw, _ := json.Marshal(e.Data)
				signal, ok := sink.SignalOf(nil, "sink",
					api.Event{ID: string(rune('a' + j)), Type: api.EventType(e.Data.Kind, e.Action), Data: raw})
				if ok && i >= since {
					signal.At = l.now
					known = notify.Observe(known, set, signal)
				}
			}
		}
	}
	m, ok := notify.Next(known, set, l.now.Add(time.Hour))
	if !ok {
		return ""
	}
	subject, _, err := notify.Text(m, nil)
	if err != nil {
		l.Fatal(err)
	}
	return subject
}

// TestWhatPeopleAreSent: a normal deploy sends nothing, from what the controller writes to the message.
func TestWhatPeopleAreSent(t *testing.T) {
	serves := func(l *harness, spec api.DeploymentSpec) {
		l.apply(spec)
		l.settle()
	}
	stopFirst := func(image string) api.DeploymentSpec {
		spec := replicas(1, image)
		spec.Strategy.Order = api.OrderStopFirst
		return spec
	}
	for name, tc := range map[string]struct {
		reason string
		given  func(*harness) // what was there before
		when   func(*harness)
		want   string
	}{
		"a first deploy": {"it goes well", nil, func(l *harness) { serves(l, replicas(2, "web:1")) }, ""},
		"a first migration": {"it runs for long", nil, func(l *harness) {
			l.does["v1-command"] = hangs
			l.apply(released(2, "web:1"))
			l.untilHeld()
			l.pass(300_000)
			l.looks()
		}, ""},
		"a rollout": {"it goes well", func(l *harness) { serves(l, replicas(3, "web:1")) },
			func(l *harness) { serves(l, replicas(3, "web:2")) }, ""},
		"the only pod": {"it is replaced, and nothing serves in between",
			func(l *harness) { serves(l, stopFirst("web:1")) }, func(l *harness) { serves(l, stopFirst("web:2")) }, ""},
		"a restart": {"of all pods", func(l *harness) { serves(l, replicas(2, "web:1")) },
			func(l *harness) { l.stamp(api.StampRestart, "1"); l.settle() }, ""},
		"scaled to none": {"a person asked for it", func(l *harness) { serves(l, replicas(2, "web:1")) },
			func(l *harness) { serves(l, replicas(0, "web:1")) }, ""},
		"config that works": {"it rolls", func(l *harness) { serves(l, replicas(2, "web:1")) },
			func(l *harness) { l.config("apps/prod/web/A", "1"); l.settle() }, ""},
		"another migration": {"it runs for long", func(l *harness) { serves(l, released(2, "web:1")) },
			func(l *harness) {
				l.does["v2-command"] = hangs
				l.apply(released(2, "web:2"))
				l.untilHeld()
				l.pass(300_000)
				l.looks()
			}, ""},
		"a migration that fails": {"it is an alarm", func(l *harness) { serves(l, released(2, "web:1")) },
			func(l *harness) { l.does["v2-command"] = breaks; serves(l, released(2, "web:2")) },
			"deployment prod/web failed: ReleaseCommandFailed"},
		"a rollback": {"once, by its own reason", func(l *harness) { serves(l, replicas(3, "web:1")) },
			func(l *harness) { l.fails["v2"] = true; serves(l, replicas(3, "web:2")) },
			"deployment prod/web failed: RolledBack"},
		"a node is lost": {"its pods go to another one, and a machine is gone",
			func(l *harness) { l.join("n2"); serves(l, replicas(2, "web:1")) },
			func(l *harness) { l.silence("n2"); l.pass(31_000); l.settle() },
			"deployment prod/web failed: NodeLost"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			if tc.given != nil {
				tc.given(l)
			}
			since := len(l.commits)
			tc.when(l)
			if got := l.message(since); got != tc.want {
				t.Errorf("%s: people are sent %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
