//go:build integration

package histories

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"tend.dev/tend/api"
)

// history holds the requests of a few clients about a few keys of their own, at any server, and the answers.
type history struct {
	number  int
	random  *rand.Rand
	callers map[string]caller
	names   []string
	counts  *counts

	began  time.Time
	mu     sync.Mutex
	ops    []porcupine.Operation
	said   map[int]string // the server that was called, by operation
	open   map[string]int // writes without an answer, by key
	faults []string       // faults besides those of the order
}

// The size of a history.
const (
	historyTime = 700 * time.Millisecond
	pause       = 15 * time.Millisecond
)

func (h *history) keys() []string {
	return []string{fmt.Sprintf("h%d-a", h.number), fmt.Sprintf("h%d-b", h.number), fmt.Sprintf("H%d", h.number)}
}

// record lets the clients call for a while, and then reads every key from every server, as soon as its answers aren't
// stale.
func (h *history) record() {
	h.began, h.said, h.open = time.Now(), map[int]string{}, map[string]int{}
	var all sync.WaitGroup
	for range clients {
		random := rand.New(rand.NewPCG(h.random.Uint64(), h.random.Uint64()))
		all.Go(func() {
			ticker := time.NewTicker(pause)
			defer ticker.Stop()
			for time.Since(h.began) < historyTime {
				h.ask(h.names[random.IntN(len(h.names))], h.choose(random))
				<-ticker.C
			}
		})
	}
	all.Wait()
	for _, name := range h.names {
		for _, key := range h.keys() {
			if err := waitFor(name+" knows "+key, func() bool { return h.ask(name, asked{key: key, verb: read}) }); err != nil {
				h.fault("%v", err)
				return
			}
		}
	}
}

// choose returns the next call of a client.
func (h *history) choose(random *rand.Rand) asked {
	keys := h.keys()
	a := asked{key: keys[random.IntN(len(keys))], value: fmt.Sprintf("web:%d", random.IntN(4)), replicas: random.IntN(4)}
	n := random.IntN(10)
	switch {
	case h.undecidable(a.key):
		return asked{key: a.key, verb: read}
	case isConfig(a.key):
		a.replicas = 0
		a.verb = []verb{set, set, set, set, unset, read, read, read, read, read}[n]
	default:
		a.verb = []verb{apply, apply, apply, apply, scale, scale, remove, read, read, read}[n]
	}
	return a
}

// undecidable reports whether a key has the maximal number of unanswered writes.
func (h *history) undecidable(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open[key] >= maxOpen
}

// ask calls a server, and records the answer. It returns false if the answer promises nothing.
func (h *history) ask(name string, a asked) bool {
	if a.verb == read && !isConfig(a.key) && h.number%2 == 1 {
		return h.list(name)
	}
	called := time.Since(h.began)
	r := h.callers[name](a.request())
	returned := time.Since(h.began)
	out, err := a.understand(r)
	if err != nil {
		h.fault("%s: %v: %v", name, a, err)
	}
	return h.note(name, a, r, out, called, returned)
}

// list reads all of a history's objects at once.
func (h *history) list(name string) bool {
	called := time.Since(h.began)
	r := h.callers[name](call{method: http.MethodGet, path: "/v1/objects/deployment", query: url.Values{"scope": {scope}}})
	returned := time.Since(h.began)
	var listed api.ListResult[api.Object]
	if meaning := r.meaning(); meaning == done {
		if err := json.Unmarshal(r.body, &listed); err != nil {
			h.fault("%s: a list: %v", name, err)
		}
	}
	known := true
	for _, key := range h.keys()[:2] {
		out := answered{answer: r.meaning(), before: -1}
		at := slices.IndexFunc(listed.Items, func(o api.Object) bool { return o.Name == key })
		switch {
		case out.answer == done && at >= 0:
			out.seen = stateOf(listed.Items[at])
		case out.answer == done:
			out.answer = absent
		}
		known = h.note(name, asked{key: key, verb: read}, r, out, called, returned) && known
	}
	return known
}

// note adds an operation.
func (h *history) note(name string, a asked, r reply, out answered, called, returned time.Duration) bool {
	if wrong := r.honest(); wrong != "" {
		h.fault("%s: %v: %s", name, a, wrong)
	}
	h.counts.add(a, r, out)
	if a.verb == read && (r.stale != "" || out.answer == refused || out.answer == unknown) {
		return false // the answer is stale, or missing
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said[len(h.ops)] = name
	op := porcupine.Operation{ClientId: len(h.ops), Input: a, Output: out, Call: int64(called), Return: int64(returned)}
	if out.answer == unknown {
		op.Return = math.MaxInt64
		if h.open != nil {
			h.open[a.key]++
		}
	}
	h.ops = append(h.ops, op)
	return true
}

func (h *history) fault(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, fmt.Sprintf(format, args...))
}

// judge returns the faults of a history. An undecided one is only counted.
func (h *history) judge() []string {
	h.counts.judged.Add(1)
	wrong, decided := verdict(h.ops, search)
	if !decided {
		h.counts.undecided.Add(1)
	}
	for _, part := range wrong {
		h.fault("no order fits history %d:\n%s", h.number, h.describe(part))
	}
	return h.faults
}

func (h *history) describe(part []porcupine.Operation) string {
	var out strings.Builder
	for _, op := range part {
		end := "never"
		if op.Return != math.MaxInt64 {
			end = time.Duration(op.Return).Round(10 * time.Microsecond).String()
		}
		fmt.Fprintf(&out, "  [%v, %s] %s: %v: %+v\n", time.Duration(op.Call).Round(10*time.Microsecond), end,
			h.said[op.ClientId], op.Input, op.Output)
	}
	return out.String()
}
