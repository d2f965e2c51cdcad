package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// crowd are the clients of a proxy during the rollouts of its workload.
type crowd struct {
	address        string
	kept           *http.Client
	all            sync.WaitGroup
	served, failed atomic.Int64
	first          atomic.Pointer[string]
}

func newCrowd(address string) *crowd {
	return &crowd{address: address, kept: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}}
}

// gather starts the clients: besides new connections (arrivals), kept ones, slow bodies, and upgraded connections.
func (c *crowd) gather(ctx context.Context) {
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

// get makes a request over a kept connection.
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

// talk upgrades a connection and exchanges a few lines over it.
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
			return fmt.Errorf("the connection broke: %q %w", line, err)
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			break
		}
	}
	return nil
}
