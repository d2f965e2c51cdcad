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
	"tend.dev/tend/internal/platform/limit"
)

// bounds limits the concurrent uses of each handler, per node and in total: see boundary.
type bounds struct {
	requests, reports, downloads, callbacks, locks *limit.Places

	bodies   *limit.Budget
	reported *limit.Rates

	mu      sync.Mutex
	streams map[string]*stream
}

func newBounds() *bounds {
	places := func(most int) *limit.Places { return limit.NewPlaces(most, boundary.RequestWait) }
	return &bounds{
		requests: places(boundary.Requests), reports: places(boundary.Reports), downloads: places(boundary.Downloads),
		callbacks: places(boundary.Callbacks), locks: places(boundary.Locks),
		bodies:   limit.NewBudget(boundary.AllBodies, boundary.Bodies),
		reported: limit.NewRates(boundary.ReportRate, boundary.ReportBurst, time.Now),
		streams:  map[string]*stream{},
	}
}

// of returns the places of a kind of request. What lasts takes none from what doesn't. The stream, of which a node has
// one, has none.
func (b *bounds) of(pattern string) *limit.Places {
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
	return b.requests
}

// account is the key of what a request's body holds, in its context.
type account struct{}

// within answers a request of a node once it has a place.
func (b *bounds) within(
	places *limit.Places, node string, w http.ResponseWriter, r *http.Request, answer func(*http.Request) error,
) error {
	if places != nil {
		leave, ok := places.Enter(r.Context(), node)
		if !ok {
			return wire.Busy(w, time.Second, "node "+node+" has too many requests of this kind at once")
		}
		defer leave()
	}
	held := b.bodies.Open(node)
	defer held.Close()
	return answer(r.WithContext(context.WithValue(r.Context(), account{}, held)))
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
