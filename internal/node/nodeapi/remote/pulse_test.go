package remote

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
)

// piped are a server and a client in a bubble. The server counts what it writes to streams, and how many there were.
type piped struct {
	client          *Client
	frames, streams atomic.Int32
	// others are whether there is another server, lost how often this one was given up.
	others bool
	lost   atomic.Int32
	// deaf: the server sends nothing on a stream; hung: it answers nothing at all; refusing: it takes no heartbeat.
	deaf, hung, refusing atomic.Bool
}

// counted counts what is written.
type counted struct {
	http.ResponseWriter
	p *piped
}

func (c counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c counted) Write(b []byte) (int, error) {
	if c.p.deaf.Load() {
		return len(b), nil
	}
	c.p.frames.Add(1)
	return c.ResponseWriter.Write(b)
}

func pipe(t *testing.T) *piped {
	t.Helper()
	w, p := nodeapitest.NewWorld(t), &piped{}
	log := slog.New(slog.DiscardHandler)
	handler := NewHandler(HandlerOptions{Service: w.Service,
		Node: func(*http.Request) (string, error) { return nodeapitest.Here, nil }, Logger: log})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.hung.Load() {
			_, _ = io.Copy(io.Discard, r.Body) // only then its end is noticed
			<-r.Context().Done()
			return
		}
		if p.refusing.Load() && strings.HasSuffix(r.URL.Path, "/alive") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/follow") {
			p.streams.Add(1)
			w = counted{w, p}
		}
		handler.ServeHTTP(w, r)
	})}
	dialled := make(pipes)
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		dialled <- far
		return near, nil
	}}
	p.client = New(Options{Server: "http://server", HTTP: &http.Client{Transport: transport}, Logger: log,
		Lost: func(error) { p.lost.Add(1) }, Several: func() bool { return p.others }})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(dialled) })
	running.Go(func() { _ = p.client.Run(ctx) })
	t.Cleanup(func() { cancel(); _ = server.Close(); transport.CloseIdleConnections(); running.Wait() })
	<-p.client.Synced()
	synctest.Wait()
	p.frames.Store(0)
	return p
}

// pipes is a listener.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// live lets time pass in which heartbeats are sent every 5 s.
func (p *piped) live(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		_ = p.client.Alive(ctx, 30*time.Second)
		cancel()
	}
	synctest.Wait()
}

func TestPulse(t *testing.T) {
	for name, c := range map[string]struct {
		live func(*piped)
		// frames and streams are those within ten minutes, at least and at most.
		frames, streams [2]int32
	}{
		"heartbeats are answered": {func(p *piped) { p.live(10 * time.Minute) }, [2]int32{19, 21}, [2]int32{1, 1}},
		"nothing is asked":        {func(*piped) { time.Sleep(10 * time.Minute) }, [2]int32{79, 80}, [2]int32{1, 1}},
		"the server answers nothing": {func(p *piped) {
			p.deaf.Store(true)
			p.hung.Store(true)
			p.live(time.Minute)
			p.deaf.Store(false)
			p.hung.Store(false)
			p.live(9 * time.Minute)
		}, [2]int32{12, 25}, [2]int32{2, 2}},
		"the stream is stuck": {func(p *piped) {
			p.deaf.Store(true)
			p.live(100 * time.Second)
			p.deaf.Store(false)
			p.live(500 * time.Second)
		}, [2]int32{15, 20}, [2]int32{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pipe(t)
				c.live(p)
				if n := p.frames.Load(); n < c.frames[0] || n > c.frames[1] {
					t.Errorf("%d frames, not %v", n, c.frames)
				}
				if n := p.streams.Load(); n < c.streams[0] || n > c.streams[1] {
					t.Errorf("%d streams, not %v", n, c.streams)
				}
			})
		})
	}
}

// TestAServerThatAnswersNoHeartbeat: with others beside it, a server is given up after a third of what a heartbeat
// lasts; alone, as late as one that is silent. A server that is slow, but answers in that time, is kept.
func TestAServerThatAnswersNoHeartbeat(t *testing.T) {
	const lasts = 24 * time.Second
	for name, c := range map[string]struct {
		others bool
		after  time.Duration // from the heartbeat that isn't answered
	}{"others": {true, lasts / 3}, "alone": {false, silentTime}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pipe(t)
				p.others = c.others
				if err := p.client.Alive(t.Context(), lasts); err != nil {
					t.Fatal(err)
				}
				p.deaf.Store(true)
				p.hung.Store(true)
				go func() { _ = p.client.Alive(t.Context(), lasts) }()
				time.Sleep(c.after - time.Millisecond)
				synctest.Wait()
				if p.lost.Load() != 0 {
					t.Errorf("it is given up before %s", c.after)
				}
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
				if p.lost.Load() == 0 {
					t.Errorf("it isn't given up after %s", c.after)
				}
			})
		})
	}
}

// TestAServerThatRefusesHeartbeats: with others beside it, it is given up at once, and the next one that refuses not
// before a third of what a heartbeat lasts has passed; alone it is kept.
func TestAServerThatRefusesHeartbeats(t *testing.T) {
	const lasts = 24 * time.Second
	for name, others := range map[string]bool{"others": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pipe(t)
				p.others = others
				p.refusing.Store(true)
				for beat, want := range []int32{1, 1, 2, 2} { // at 0 s, 5 s, 10 s and 15 s
					if err := p.client.Alive(t.Context(), lasts); err == nil {
						t.Fatal("it was taken")
					}
					synctest.Wait()
					if !others {
						want = 0
					}
					if got := p.lost.Load(); got != want {
						t.Errorf("heartbeat %d: servers were given up %d times, want %d", beat, got, want)
					}
					time.Sleep(5 * time.Second)
				}
			})
		})
	}
}
