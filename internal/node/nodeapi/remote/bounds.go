package remote

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/platform/delay"
	"tend.dev/tend/internal/platform/limit"
)

// bounds limits the concurrent uses of each handler, per node and in total: see boundary.
type bounds struct {
	requests, writes, reports, downloads, callbacks, locks *limit.Places

	bodies   *limit.Budget
	reported *limit.Rates // bytes of reports
	// What writes to the store: requests of the node, those of its containers, and heartbeats that move between servers.
	written, called, moved *limit.Rates

	mu      sync.Mutex
	streams map[string]*stream
}

func newBounds() *bounds {
	places := func(most int) *limit.Places { return limit.NewPlaces(most, boundary.RequestWait) }
	writes := func() *limit.Rates { return limit.NewRates(boundary.WriteRate, boundary.WriteBurst, time.Now) }
	return &bounds{
		requests: places(boundary.Requests), writes: places(boundary.Requests), reports: places(boundary.Reports),
		downloads: places(boundary.Downloads), callbacks: places(boundary.Callbacks), locks: places(boundary.Locks),
		bodies:   limit.NewBudget(boundary.AllBodies, boundary.Bodies),
		reported: limit.NewRates(boundary.ReportRate, boundary.ReportBurst, time.Now),
		written:  writes(), called: writes(), moved: writes(),
		streams: map[string]*stream{},
	}
}

// rate returns the rate of a request that may write to the store, or nil.
func (b *bounds) rate(pattern string, r *http.Request) *limit.Rates {
	switch pattern {
	case "POST report", "POST ingress", "POST network", "POST locks/{name...}":
		return b.written
	case "POST certificates/{do}":
		if do := r.PathValue("do"); do == "store" || do == "delete" {
			return b.written
		}
	case callbackPath:
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return b.called
		}
	}
	return nil
}

// of returns the places of a request. What lasts, or waits for its rate, takes none from what doesn't: heartbeats must
// be answered. The stream, of which a node has one, has none.
func (b *bounds) of(pattern string, r *http.Request) *limit.Places {
	switch pattern {
	case "GET follow":
		return nil
	case "POST report":
		return b.reports
	case "GET blobs/{digest}", "GET release-images/{task}":
		return b.downloads
	case "POST locks/{name...}":
		return b.locks
	case callbackPath:
		return b.callbacks
	}
	if b.rate(pattern, r) != nil {
		return b.writes
	}
	return b.requests
}

// account is the key of what a request's body holds, in its context.
type account struct{}

// within answers a request of a node once it has a place.
func (b *bounds) within(
	pattern, node string, w http.ResponseWriter, r *http.Request, answer func(*http.Request) error,
) error {
	if places := b.of(pattern, r); places != nil {
		leave, ok := places.Enter(r.Context(), node)
		if !ok {
			return wire.Busy(w, time.Second, "node "+node+" has too many requests of this kind at once")
		}
		defer leave()
	}
	if rate := b.rate(pattern, r); rate != nil {
		if err := slow(r.Context(), rate, node, w); err != nil {
			return err
		}
	}
	held := b.bodies.Open(node)
	defer held.Close()
	return answer(r.WithContext(context.WithValue(r.Context(), account{}, held)))
}

// slow waits until a node may write once more. Its requests that wait have its places: an agent, which sends one report
// at a time, is slowed and never refused.
func slow(ctx context.Context, rate *limit.Rates, node string, w http.ResponseWriter) error {
	for ends := time.Now().Add(boundary.RequestWait); ; {
		wait := rate.Ask(node)
		switch {
		case wait == 0:
			return nil
		case time.Now().Add(wait).After(ends):
			return wire.Busy(w, wait, "node "+node+" writes too often")
		}
		if err := delay.For(ctx, wait); err != nil {
			return err
		}
	}
}

// readBody reads the body of a request of a node.
func readBody(w http.ResponseWriter, r *http.Request, into any) error {
	return wire.Body{Most: boundary.MaxRequest, Within: boundary.BodyTime, Hold: holdFor(w, r)}.Read(w, r, into)
}

func holdFor(w http.ResponseWriter, r *http.Request) func(int) error {
	held, _ := r.Context().Value(account{}).(*limit.Account)
	return func(bytes int) error {
		if held.Take(int64(bytes)) {
			return nil
		}
		return wire.Busy(w, time.Second,
			"the requests that this server answers at the moment take all the memory that nodes may have of it")
	}
}

// readReport reads a report, of which a node sends so many bytes in a time.
func (b *bounds) readReport(id string, w http.ResponseWriter, r *http.Request, into *node.Report) error {
	if wait := b.reported.Wait(id); wait > 0 {
		return wire.Busy(w, wait, "node "+id+" reports too much")
	}
	hold := holdFor(w, r)
	return wire.Body{Most: boundary.MaxReport, Within: boundary.BodyTime, Hold: func(bytes int) error {
		b.reported.Take(id, float64(bytes))
		return hold(bytes)
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
