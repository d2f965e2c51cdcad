//go:build integration

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
)

// engineEvent is an event of the engine.
type engineEvent struct {
	Action   string
	TimeNano int64
	Actor    struct {
		ID         string
		Attributes map[string]string
	}
}

// history holds the engine's events of a machine's containers, in order: unlike samples it misses nothing between.
type history struct {
	m      *machine
	cancel context.CancelFunc
	ended  chan struct{}

	mu     sync.Mutex
	events []engineEvent
	marks  map[string]bool // the tags that were reported
}

// follow begins to write down every start and end of a container of the machine, from now on.
func (m *machine) follow() *history {
	m.Helper()
	ctx, cancel := context.WithCancel(m.Context())
	filter, _ := json.Marshal(map[string][]string{"event": {"start", "die", "tag"}})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/events?filters="+
		url.QueryEscape(string(filter)), nil)
	if err != nil {
		m.Fatal(err)
	}
	response, err := dockerHTTP.Do(request)
	if err != nil {
		m.Fatal(err)
	}
	h := &history{m: m, cancel: cancel, ended: make(chan struct{}), marks: map[string]bool{}}
	m.Cleanup(h.stop)
	go func() {
		defer close(h.ended)
		defer response.Body.Close()
		decoder := json.NewDecoder(response.Body)
		for {
			var next engineEvent
			if decoder.Decode(&next) != nil {
				return
			}
			h.take(next)
		}
	}()
	h.caughtUp() // the engine answers before it begins to report
	return h
}

func (h *history) take(next engineEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch attributes := next.Actor.Attributes; {
	case next.Action == "tag":
		h.marks[attributes["name"]] = true
	case attributes["tend.scope"] == h.m.scope, attributes["com.docker.compose.project"] == h.m.scope:
		h.events = append(h.events, next)
	}
}

// caughtUp waits until all earlier events are recorded: a tag that is set now is reported after them.
func (h *history) caughtUp() {
	h.m.Helper()
	mark := "tendtest-" + random() + "/mark:now"
	h.m.afterwards(func() { h.m.engine("rmi", mark).ignored() })
	h.m.until("the engine has reported what happened", func() bool {
		h.m.engine("tag", image("v1"), mark).must()
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.marks[mark]
	})
	h.m.engine("rmi", mark).must()
}

func (h *history) stop() {
	h.cancel()
	<-h.ended
}

func (h *history) all() []engineEvent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]engineEvent(nil), h.events...)
}

// bounds returns the minimal and the maximal number of running containers of an object at any time, from its first
// number on.
func (h *history) bounds(name string, first int) (fewest, most int) {
	h.caughtUp()
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
