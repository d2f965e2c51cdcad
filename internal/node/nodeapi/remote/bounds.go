package remote

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/platform/delay"
	"tend.dev/tend/internal/platform/limit"
)

// bounds limits the concurrent uses of each handler, per node and in total: see boundary.
type bounds struct {
	requests, writes, reports, downloads, locks *limit.Places
	calls                                       calls

	bodies *limit.Budget
	sent   *limit.Rates // bytes of the requests that write
	// What writes to the store: requests of the node, those about its network, and heartbeats that move between servers.
	written, networks, moved *limit.Rates

	mu      sync.Mutex
	streams map[string]*stream
}

func newBounds() *bounds {
	return &bounds{
		requests: places(boundary.Requests), writes: places(boundary.Requests), reports: places(boundary.Reports),
		downloads: places(boundary.Downloads), locks: places(boundary.Locks), calls: newCalls(),
		bodies:  limit.NewBudget(boundary.AllBodies, boundary.Bodies),
		sent:    limit.NewRates(boundary.SentRate, boundary.SentBurst, time.Now),
		written: writeRates(1), moved: writeRates(1),
		networks: limit.NewRates(boundary.NetworkRate, boundary.NetworkBurst, time.Now),
		streams:  map[string]*stream{},
	}
}

func places(most int) *limit.Places { return limit.NewPlaces(most, boundary.RequestWait) }

// writeRates returns the rates of keys that share the writes of a node with others.
func writeRates(sharing float64) *limit.Rates {
	return limit.NewRates(boundary.WriteRate/sharing, boundary.WriteBurst/sharing, time.Now)
}

// rate returns the rate of a request that may write to the store, or nil.
func (b *bounds) rate(pattern string, r *http.Request) *limit.Rates {
	switch pattern {
	case "POST report", "POST ingress", "POST locks/{name...}":
		return b.written
	case "POST network":
		return b.networks
	case "POST certificates/{do}":
		if do := r.PathValue("do"); do == "store" || do == "delete" {
			return b.written
		}
	}
	return nil
}

// of returns the places of a request. What lasts, or waits for its rate, takes none from what doesn't: heartbeats must
// be answered. The stream, of which a node has one, has none, and a call of a container takes those of calls.
func (b *bounds) of(pattern string, r *http.Request) *limit.Places {
	switch pattern {
	case "GET follow", callbackPath:
		return nil
	case "POST report":
		return b.reports
	case "GET blobs/{digest}", "GET release-images/{task}":
		return b.downloads
	case "POST locks/{name...}":
		return b.locks
	}
	if b.rate(pattern, r) != nil {
		return b.writes
	}
	return b.requests
}

// body counts the bytes of a request's body. Its key in the context of the request is bodyKey.
type body struct {
	node string
	held *limit.Account
	sent *limit.Rates // nil if the request doesn't write
}

type bodyKey struct{}

// within answers a request of a node once it has a place.
func (b *bounds) within(
	pattern, node string, w http.ResponseWriter, r *http.Request, answer func(*http.Request) error,
) error {
	rate := b.rate(pattern, r)
	leave, err := enter(w, r, b.of(pattern, r), rate, node)
	if err != nil {
		return err
	}
	defer leave()
	in := body{node: node, held: b.bodies.Open(node)}
	defer in.held.Close()
	if rate != nil {
		in.sent = b.sent
	}
	return answer(r.WithContext(context.WithValue(r.Context(), bodyKey{}, in)))
}

// enter takes a place of a key, which says whose request it is, and waits for the rate of the key. Either may be nil.
func enter(
	w http.ResponseWriter, r *http.Request, places *limit.Places, rate *limit.Rates, key string,
) (leave func(), err error) {
	leave = func() {}
	if places != nil {
		var ok bool
		if leave, ok = places.Enter(r.Context(), key); !ok {
			return nil, wire.Busy(w, time.Second, "node "+key+" has too many requests of this kind at once")
		}
	}
	if rate != nil {
		if err := slow(r.Context(), rate, key, w); err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// slow waits until a key may write once more. Its requests that wait have its places: an agent, which sends one report
// at a time, is slowed and never refused.
func slow(ctx context.Context, rate *limit.Rates, key string, w http.ResponseWriter) error {
	for ends := time.Now().Add(boundary.RequestWait); ; {
		wait := rate.Ask(key)
		switch {
		case wait == 0:
			return nil
		case time.Now().Add(wait).After(ends):
			return wire.Busy(w, wait, "node "+key+" writes too often")
		}
		if err := delay.For(ctx, wait); err != nil {
			return err
		}
	}
}

// readBody reads the body of a request of a node that is not a report.
func readBody(w http.ResponseWriter, r *http.Request, into any) error {
	return readUpTo(boundary.MaxRequest, w, r, into)
}

// readUpTo reads the body of a request of a node. Of those that write, a node sends so many bytes in a time.
func readUpTo(most int64, w http.ResponseWriter, r *http.Request, into any) error {
	in, _ := r.Context().Value(bodyKey{}).(body)
	if in.sent != nil {
		if wait := in.sent.Wait(in.node); wait > 0 {
			return wire.Busy(w, wait, "node "+in.node+" sends too many bytes")
		}
	}
	return wire.Body{Most: most, Within: boundary.BodyTime, Hold: func(bytes int) error {
		if in.sent != nil {
			in.sent.Take(in.node, float64(bytes))
		}
		if in.held.Take(int64(bytes)) {
			return nil
		}
		return wire.Busy(w, time.Second,
			"the requests that this server answers at the moment take all the memory that nodes may have of it")
	}}.Read(w, r, into)
}

// stream is the single stream of a node.
type stream struct {
	free chan struct{} // holds an element while there is none
	end  *func()       // of the newest
	used int           // those that have it, or wait for it
}

var errOtherStream = errors.New("the node has begun another stream")

// follow ends the stream that a node has, of which a connection that broke may know nothing yet, and those that wait
// for it. It returns once the next one may begin. end is called if another one comes, at the latest when leave is.
func (b *bounds) follow(ctx context.Context, id string, end func()) (leave func(), err error) {
	b.mu.Lock()
	s := b.streams[id]
	if s == nil {
		s = &stream{free: make(chan struct{}, 1)}
		s.free <- struct{}{}
		b.streams[id] = s
	}
	if s.end != nil {
		(*s.end)()
	}
	s.end = &end
	s.used++
	b.mu.Unlock()
	begun := false
	leave = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if s.end == &end {
			s.end = nil
		}
		if begun {
			s.free <- struct{}{}
		}
		if s.used--; s.used == 0 {
			delete(b.streams, id)
		}
	}
	select {
	case <-s.free:
		begun = true
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, errOtherStream
	}
}
