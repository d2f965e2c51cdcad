package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/control/verbs"
)

// anyOf returns a client that uses the first of several servers that accepts its connection, as a person would try
// another one.
func (s *several) anyOf(names ...string) *client.Client {
	s.t.Helper()
	dial := func(ctx context.Context) (conn net.Conn, err error) {
		for _, name := range names {
			if conn, err = (&net.Dialer{}).DialContext(ctx, "unix",
				filepath.Join(s.machines[name].root, "tend.sock")); err == nil {
				return conn, nil
			}
		}
		return nil, err
	}
	c, err := client.New(client.Options{Server: "http://any", Dial: dial})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// calls are made one after another until they are stopped.
type calls struct {
	answered, repeated atomic.Int64
	mu                 sync.Mutex
	failures           []string
}

func (c *calls) repeat(stop <-chan struct{}, call func(n int) error) {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if err := c.insist(stop, func() error { return call(n) }); err != nil {
			c.mu.Lock()
			c.failures = append(c.failures, err.Error())
			c.mu.Unlock()
			continue
		}
		c.answered.Add(1)
	}
}

// insist repeats a call as a careful caller would: when a server answers that it can't serve it now, since it starts or
// the servers elect, that it had no time to, or that others kept changing the same, and when the outcome is unknown,
// since the connection was cut or the store's answer lost. Those of this test may be repeated.
func (c *calls) insist(stop <-chan struct{}, call func() error) error {
	for {
		err := call()
		var problem *api.Problem
		again := errors.As(err, &problem) && (problem.Status == http.StatusServiceUnavailable ||
			problem.Status == http.StatusGatewayTimeout || problem.Title == string(verbs.Busy))
		if !again && !client.IsUnknownOutcome(err) {
			return err
		}
		c.repeated.Add(1)
		select {
		case <-stop:
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestServersRestartedOneByOne: each of three servers is restarted while calls go on, as in an upgrade. A caller that
// tries another server when one accepts no connection, and repeats unserved calls, gets every answer, and no other
// error.
func TestServersRestartedOneByOne(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	s := newSeveral(t, names...)
	s.start("a", "")
	s.start("b", "a")
	s.start("c", "b")
	s.running["a"].converged(web, s.running["a"].apply(manifestOf(web, replicas(3))))
	stop := make(chan struct{})
	end := sync.OnceFunc(func() { close(stop) })
	defer end()
	var running sync.WaitGroup
	reads, writes := &calls{}, &calls{}
	for i, name := range names {
		c := s.anyOf(name, names[(i+1)%3], names[(i+2)%3])
		running.Go(func() {
			reads.repeat(stop, func(int) error { _, err := c.Object(t.Context(), web); return err })
		})
		running.Go(func() {
			writes.repeat(stop, func(n int) error {
				_, err := c.SetConfig(t.Context(), "prod", name, api.ConfigRequest{Set: map[string]string{"N": fmt.Sprint(n)}})
				return err
			})
		})
	}
	for _, name := range names {
		before := [2]int64{reads.answered.Load(), writes.answered.Load()}
		if err := s.running[name].stop(); err != nil {
			t.Fatalf("stop %s: %v", name, err)
		}
		again := s.startWith(name, func(*Options) {})
		again.untilWithin(patience, name+" is back, and calls went on", func() bool {
			servers, err := again.client.Servers(t.Context())
			return err == nil && servers.Quorum == "" && reads.answered.Load() > before[0]+20 &&
				writes.answered.Load() > before[1]+20
		})
	}
	end()
	running.Wait()
	for what, made := range map[string]*calls{"reads": reads, "writes": writes} {
		if len(made.failures) > 0 || made.answered.Load() == 0 {
			t.Errorf("%s: %d answered, without an answer: %v", what, made.answered.Load(), made.failures)
		}
	}
	t.Logf("%d reads, %d writes; repeated: %d, %d", reads.answered.Load(), writes.answered.Load(), reads.repeated.Load(),
		writes.repeated.Load())
	s.running["a"].converged(web, 0)
}
