package eventlog

import (
	"encoding/json"
	"fmt"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
	"tend.dev/tend/internal/store/records"
)

// The maximal sizes in bytes: of an event's data, and of the data of one commit, beyond which events lose their
// details.
const (
	MaxEventBytes  = 2 << 10
	maxCommitBytes = 256 << 10
	maxName        = 128
)

// encode returns the value of an entry.
func encode(now time.Time, site string, events []change.Event, by records.Author) ([]byte, error) {
	e := entry{Time: now, Events: make([]stored, len(events))}
	most := max(MaxEventBytes/4, min(MaxEventBytes, maxCommitBytes/len(events)))
	for i, event := range events {
		data := event.Data
		data.Verb, data.Actor, data.Manager = change.Cut(by.Verb, maxName), change.Cut(by.Actor, maxName),
			change.Cut(by.Manager, maxName)
		if data.Verb == "" {
			data.Verb = change.Cut(site, maxName)
		}
		raw, err := fit(data, most)
		if err != nil {
			return nil, err
		}
		e.Events[i] = stored{Type: api.EventType(data.Kind, event.Action), Subject: data.Scope + "/" + data.Name, Data: raw}
	}
	value, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode events: %w", err)
	}
	return value, nil
}

// fit returns data within a number of bytes. It drops values first, then fields, then the messages of conditions.
func fit(data api.EventData, most int) (json.RawMessage, error) {
	for {
		raw, err := json.Marshal(data)
		if err != nil {
			return nil, fmt.Errorf("encode an event: %w", err)
		}
		if len(raw) <= most || !shrink(&data) {
			return raw, nil
		}
	}
}

// shrink leaves out a detail. It returns false if none is left.
func shrink(data *api.EventData) bool {
	const fewest = 80
	if n := len(data.Changes); n > 0 {
		bare := make([]api.EventChange, n)
		valued := false
		for i, c := range data.Changes {
			bare[i].Path = c.Path
			valued = valued || c.Old != nil || c.New != nil
		}
		if !valued {
			data.MoreChanges += n - n/2
			bare = bare[:n/2]
		}
		data.Changes = bare
		return true
	}
	if n := len(data.Conditions); n > 0 {
		data.Conditions = data.Conditions[:n/2]
		return true
	}
	if len(data.Message) > fewest {
		data.Message = change.Cut(data.Message, fewest)
		return true
	}
	return false
}

// encoded returns a decoded record as JSON; nil is absent.
func encoded(record any) (json.RawMessage, error) {
	switch r := record.(type) {
	case nil:
		return nil, nil
	case []byte: // of a kind without a type of status
		return r, nil
	}
	raw, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("encode a status: %w", err)
	}
	return raw, nil
}
