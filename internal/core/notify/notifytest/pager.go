package notifytest

import (
	"encoding/json"
	"strconv"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
	"tend.dev/tend/internal/core/notify"
	"tend.dev/tend/internal/core/sink"
)

// Pager is a sink for people with default settings, of the events of one object.
type Pager struct {
	known  api.SinkCauses
	set    notify.Settings
	before json.RawMessage
	now    time.Time
	events int
}

// New returns a pager that was sent nothing yet.
func New() *Pager {
	return &Pager{set: notify.SettingsOf(nil), now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
}

// Write takes a write of the object's status in.
func (p *Pager) Write(object api.Object, status json.RawMessage) {
	object.Metadata.UID = "uid"
	for _, e := range change.Status(object, p.before, status) {
		p.events++
		raw, err := json.Marshal(e.Data)
		if err != nil {
			panic(err)
		}
		event := api.Event{ID: strconv.Itoa(p.events), Type: api.EventType(object.Kind, e.Action), Data: raw}
		if signal, ok := sink.SignalOf(nil, "sink", event); ok {
			signal.At = p.now
			p.known = notify.Observe(p.known, p.set, signal)
		}
	}
	p.before = status
}

// Send returns the subject of the message that is sent an hour later; empty if there is nothing to send.
func (p *Pager) Send() string {
	p.now = p.now.Add(time.Hour)
	message, ok := notify.Next(p.known, p.set, p.now)
	if !ok {
		return ""
	}
	p.known = notify.Sent(p.known, message, p.now)
	subject, _, err := notify.Text(message, nil)
	if err != nil {
		panic(err)
	}
	return subject
}
