package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
)

// What clients do while a deployment is rolled out over and over.
const (
	rolledReplicas = 5
	rolledTimes    = 20
	rolledRequests = 100_000
	newPerSecond   = 500
	rolledBefore   = 20 * time.Second // how long latency is taken before the first rollout
	atOnce         = 2000             // new connections under way; more wait, and their wait counts
)

// ingressRollouts rolls a deployment out again and again under load and counts the requests that failed, of all kinds, and
// how long those on new connections took against before.
func ingressRollouts(ctx context.Context, l *lab) (err error) {
	d := l.deployment(rolledReplicas)
	d.spec.Strategy = &api.Strategy{Order: api.OrderStartFirst, MaxParallel: 1, Pause: "0s", Monitor: "50ms"}
	d.spec.Probes = &api.Probes{Readiness: &api.Probe{HTTPGet: &api.HTTPGet{Path: "/healthz", Port: 8080}, Period: "200ms"}}
	if _, err := d.deploy(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.remove(context.WithoutCancel(ctx))) }()
	done, err := l.serve(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	c := &crowd{address: l.ingress, kept: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, l.ingress)
		},
	}}}
	clients, stop := context.WithCancel(ctx)
	defer stop()
	c.gather(clients)
	if err := pause(ctx, rolledBefore); err != nil {
		return err
	}
	before := c.latencies()
	rollouts := 0
	for ; err == nil && (rollouts < rolledTimes || c.served.Load() < rolledRequests); rollouts++ {
		_, err = d.roll(ctx)
		fmt.Fprintf(os.Stderr, "ingress-rollout %d: %d requests, %d failed\n", rollouts+1, c.served.Load(), c.failed.Load())
	}
	during := c.latencies()
	stop()
	c.all.Wait()
	if err != nil {
		return err
	}
	value("ingress-rollout-failed", float64(c.failed.Load()), fmt.Sprintf("of %d requests in %d rollouts", c.served.Load(), rollouts))
	ratio("ingress-rollout-p99", float64(percentile(during, 99))/float64(percentile(before, 99)), "before")
	duration("ingress-rollout-p99-before", percentile(before, 99))
	duration("ingress-rollout-p99-during", percentile(during, 99))
	if first := c.first.Load(); first != nil {
		fmt.Fprintln(os.Stderr, "ingress-rollout: the first that failed:", *first)
	}
	return nil
}

// crowd are the clients.
type crowd struct {
	address        string
	kept           *http.Client
	all            sync.WaitGroup
	served, failed atomic.Int64
	first          atomic.Pointer[string]

	mu   sync.Mutex
	took []time.Duration // of requests on new connections since the last look
}

// gather starts them: new connections at an even rate, and beside them kept ones, bodies that come slowly, and connections
// that were upgraded.
func (c *crowd) gather(ctx context.Context) {
	c.all.Go(func() { c.arrive(ctx) })
	for range 4 {
		c.all.Go(func() { c.repeat(ctx, c.get) })
	}
	for range 4 {
		c.all.Go(func() { c.repeat(ctx, c.send) })
	}
	for range 4 {
		c.all.Go(func() { c.repeat(ctx, c.talk) })
	}
}

// arrive makes a new connection each time one is due, whether those before were answered or not.
func (c *crowd) arrive(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	room := make(chan struct{}, atOnce)
	began, made := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for due := int(time.Since(began) * newPerSecond / time.Second); made < due; made++ {
			at := began.Add(time.Duration(made) * time.Second / newPerSecond)
			room <- struct{}{}
			c.all.Go(func() {
				defer func() { <-room }()
				body, err := fetch(ctx, c.address)
				if err == nil && !greets(body) {
					err = fmt.Errorf("answered %q", body)
				}
				c.mu.Lock()
				c.took = append(c.took, time.Since(at))
				c.mu.Unlock()
				c.count(ctx, err)
			})
		}
	}
}

func (c *crowd) repeat(ctx context.Context, do func(context.Context) error) {
	for ctx.Err() == nil {
		c.count(ctx, do(ctx))
		_ = pause(ctx, 10*time.Millisecond)
	}
}

func (c *crowd) count(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil: // the end, no fault
	case err == nil:
		c.served.Add(1)
	default:
		c.served.Add(1)
		c.failed.Add(1)
		text := err.Error()
		c.first.CompareAndSwap(nil, &text)
	}
}

// latencies are those since the last look.
func (c *crowd) latencies() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.took
	c.took = nil
	return out
}

// get asks over a connection that is kept.
func (c *crowd) get(ctx context.Context) error { return c.ask(ctx, http.MethodGet, "/", nil, greets) }

// send sends a body in parts with pauses between.
func (c *crowd) send(ctx context.Context) error {
	reader, writer := io.Pipe()
	go func() {
		for range 20 {
			if _, err := writer.Write(make([]byte, 1000)); err != nil || pause(ctx, 20*time.Millisecond) != nil {
				break
			}
		}
		_ = writer.Close()
	}()
	return c.ask(ctx, http.MethodPost, "/sum", reader, func(body string) bool { return body == "20000\n" })
}

func (c *crowd) ask(ctx context.Context, method, path string, body io.Reader, want func(string) bool) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+proxied+path, body)
	if err != nil {
		return err
	}
	response, err := c.kept.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !want(string(text))) {
		err = fmt.Errorf("%s %s: %d %q", method, path, response.StatusCode, text)
	}
	return err
}

// talk upgrades a connection and says a few lines over it.
func (c *crowd) talk(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /echo HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", proxied)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("no upgrade: %s", response.Status)
	}
	for n := range 20 {
		want := fmt.Sprintf("line %d\n", n)
		fmt.Fprint(conn, want)
		if line, err := reader.ReadString('\n'); line != want {
			return fmt.Errorf("the conversation broke off: %q %w", line, err)
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			break
		}
	}
	return nil
}

// fetch asks once over a new connection and returns the body.
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
