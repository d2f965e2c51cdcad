//go:build integration

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
)

// happening is an event of the engine.
type happening struct {
	Action string
	Actor  struct {
		ID         string
		Attributes map[string]string
	}
}

// history is what the engine told of a machine's containers, in order: unlike samples it misses nothing between.
type history struct {
	m      *machine
	cancel context.CancelFunc
	ended  chan struct{}

	mu   sync.Mutex
	told []happening
}

// follow begins to write down every start and end of a container of the machine.
func (m *machine) follow() *history {
	m.Helper()
	ctx, cancel := context.WithCancel(m.Context())
	filter, _ := json.Marshal(map[string][]string{"label": {"tend.scope=" + m.scope}, "event": {"start", "die"}})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/events?filters="+url.QueryEscape(string(filter)), nil)
	if err != nil {
		m.Fatal(err)
	}
	response, err := dockerHTTP.Do(request)
	if err != nil {
		m.Fatal(err)
	}
	h := &history{m: m, cancel: cancel, ended: make(chan struct{})}
	m.Cleanup(h.stop)
	go func() {
		defer close(h.ended)
		defer response.Body.Close()
		decoder := json.NewDecoder(response.Body)
		for {
			var next happening
			if decoder.Decode(&next) != nil {
				return
			}
			h.mu.Lock()
			h.told = append(h.told, next)
			h.mu.Unlock()
		}
	}()
	return h
}

func (h *history) stop() {
	h.cancel()
	<-h.ended
}

func (h *history) all() []happening {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]happening(nil), h.told...)
}

// bounds are the fewest and the most containers of an object that ran at any time, beginning with how many did at first.
func (h *history) bounds(name string, first int) (fewest, most int) {
	fewest, most = first, first
	now := first
	for _, event := range h.all() {
		if event.Actor.Attributes["tend.name"] != name {
			continue
		}
		if event.Action == "start" {
			now++
		} else {
			now--
		}
		fewest, most = min(fewest, now), max(most, now)
	}
	return fewest, most
}

// starts counts the containers of a release that started.
func (h *history) starts(name, release string) (count int) {
	for _, event := range h.all() {
		attributes := event.Actor.Attributes
		if event.Action == "start" && attributes["tend.name"] == name && attributes["tend.release"] == release {
			count++
		}
	}
	return count
}
