package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// atOnce bounds the concurrent requests of one kind of arrivals; further ones are made later.
const atOnce = 2000

// arrivals are requests on new connections to one address, each made when it is due, whether or not earlier ones were
// answered. A request's time counts from the moment it is really made: bench's own delay doesn't count against the
// address.
type arrivals struct {
	name, address string
	perSecond     int
	done          func(ctx context.Context, err error) // called after each request; may be nil

	mu   sync.Mutex
	took []time.Duration // since the last call of taken
}

// run makes requests until ctx ends, and returns once the last was answered.
func (a *arrivals) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	room := make(chan struct{}, atOnce)
	due := time.NewTimer(0)
	defer due.Stop()
	began := time.Now()
	for made := 0; ; made++ {
		due.Reset(time.Until(began.Add(time.Duration(made) * time.Second / time.Duration(a.perSecond))))
		select {
		case <-ctx.Done():
			return
		case <-due.C:
		}
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			a.ask(ctx)
		})
	}
}

func (a *arrivals) ask(ctx context.Context) {
	at := time.Now()
	body, err := fetch(ctx, a.address)
	took := time.Since(at)
	if err == nil && !greets(body) {
		err = fmt.Errorf("answered %q", body)
	}
	if ctx.Err() == nil {
		a.mu.Lock()
		a.took = append(a.took, took)
		a.mu.Unlock()
	}
	if a.done != nil {
		a.done(ctx, err)
	}
}

// taken returns the durations of the requests since the last call.
func (a *arrivals) taken() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.took
	a.took = nil
	return out
}

// fetch makes one request over a new connection and returns the body.
func fetch(ctx context.Context, address string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", proxied)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered %d %q", response.StatusCode, text)
	}
	return string(text), err
}

// percentile of no values is 0.
func percentile(values []time.Duration, p int) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
