//go:build integration

package hosts

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// observer reads the events of all hosts' engines, with the time of the clock that all hosts share. Of tend it knows
// only the labels.
type observer struct {
	lab     *lab
	mu      sync.Mutex
	seen    []occurrence
	streams []*process
	readers sync.WaitGroup
}

// occurrence is the creation, the start or the end of a container.
type occurrence struct {
	host, action, container string
	at                      int64
	of, slot                string // the workload as kind/scope/name, and the slot
}

// observe begins to read the events of all engines.
func (l *lab) observe() *observer {
	l.Helper()
	o := &observer{lab: l}
	for _, h := range l.hosts {
		reader, writer := io.Pipe()
		command := h.inside("docker", "events", "--filter", "type=container", "--filter", "event=create", "--filter",
			"event=start", "--filter", "event=die", "--since", "0", "--format", "{{json .}}")
		stream := startInto(l.TB, command, writer)
		o.streams = append(o.streams, stream)
		l.Cleanup(func() { stream.end(syscall.SIGKILL); _ = writer.Close() })
		o.readers.Go(func() { o.read(h.name, reader) })
	}
	return o
}

func (o *observer) read(host string, from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var event struct {
			Action   string
			TimeNano int64 `json:"timeNano"`
			Actor    struct {
				ID         string
				Attributes map[string]string
			}
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Actor.Attributes["tend.slot"] == "" {
			continue
		}
		labels := event.Actor.Attributes
		o.mu.Lock()
		o.seen = append(o.seen, occurrence{
			host: host, action: event.Action, container: event.Actor.ID, at: event.TimeNano,
			of: labels["tend.kind"] + "/" + labels["tend.scope"] + "/" + labels["tend.name"], slot: labels["tend.slot"],
		})
		o.mu.Unlock()
	}
}

// all returns the events so far, in the order of time.
func (o *observer) all() []occurrence {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := slices.Clone(o.seen)
	slices.SortStableFunc(out, func(a, b occurrence) int { return int(a.at - b.at) })
	return out
}

// once demands that no slot was ever held by two containers at once, and that so many containers started at least: an
// observer that sees nothing proves nothing.
func (o *observer) once(t *testing.T, atLeast int) {
	t.Helper()
	holds, starts := map[string]occurrence{}, 0
	for _, is := range o.all() {
		slot := is.of + "." + is.slot
		held, taken := holds[slot]
		switch {
		case is.action == "die" && held.container == is.container:
			delete(holds, slot)
		case is.action == "start" && taken && held.container != is.container:
			t.Errorf("%s is held twice: %s", slot, describe(held, is))
			fallthrough
		case is.action == "start":
			holds[slot] = is
			starts++
		}
	}
	if starts < atLeast {
		t.Errorf("the observer saw %d starts, of %d at least", starts, atLeast)
	}
}

func describe(events ...occurrence) string {
	var out []string
	for _, is := range events {
		out = append(out, fmt.Sprintf("%s of %.12s on %s at %d", is.action, is.container, is.host, is.at))
	}
	return strings.Join(out, ", ")
}
