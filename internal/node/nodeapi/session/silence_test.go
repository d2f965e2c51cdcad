package session_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/session"
)

// breakable is a connection that loses everything once it is broken, and never says so.
type breakable struct {
	net.Conn
	broken *sync.Map
}

// Write implements net.Conn.
func (b breakable) Write(p []byte) (int, error) {
	if _, broken := b.broken.Load("both"); broken {
		return len(p), nil
	}
	return b.Conn.Write(p)
}

// TestASilentConnection is given up by both ends: a machine that lost its power says nothing.
func TestASilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fleet nodeapi.Fleet
		var broken sync.Map
		here, there := net.Pipe()
		ended := goes(func() error { return session.Attach(&fleet, "n1", breakable{here, &broken}) })
		served := goes(func() error {
			session.Serve(context.Background(), breakable{there, &broken}, named("a"), nil, quiet)
			return nil
		})
		time.Sleep(time.Hour)
		if got := fleet.Connected(); len(got) != 1 {
			t.Error("a connection on which nothing happens is given up")
		}
		broken.Store("both", true)
		time.Sleep(time.Minute)
		if got := fleet.Connected(); len(got) != 0 {
			t.Errorf("still connected after a minute of silence: %v", got)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		<-served
	})
}

// endlessImage is a node whose image has no end.
type endlessImage struct {
	nodeapi.Node
	ended chan struct{}
}

// SaveImage implements nodeapi.Node.
func (e endlessImage) SaveImage(context.Context, string, node.Part) (io.ReadCloser, error) {
	return unread{e.ended}, nil
}

type unread struct{ ended chan struct{} }

func (unread) Read(p []byte) (int, error) { return len(p), nil }
func (u unread) Close() error             { close(u.ended); return nil }

// slowImage is a node that sends some bytes of its image at once, and then one in each while.
type slowImage struct {
	nodeapi.Node
	opens bool
	some  int
	while time.Duration
}

// SaveImage implements nodeapi.Node.
func (s slowImage) SaveImage(ctx context.Context, _ string, _ node.Part) (io.ReadCloser, error) {
	if !s.opens {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { _ = out.Close() })
	go func() {
		_, err := in.Write(make([]byte, s.some))
		for err == nil {
			time.Sleep(s.while)
			_, err = in.Write([]byte{0})
		}
	}()
	return out, nil
}

// TestAnImageThatComesTooSlowly: it ends for the one that waits for it, who asks another node.
func TestAnImageThatComesTooSlowly(t *testing.T) {
	for name, from := range map[string]slowImage{
		"never":                {},
		"stops":                {opens: true, some: 1 << 20, while: time.Hour},
		"stops at once":        {opens: true, some: 100, while: time.Hour},
		"a byte in each while": {opens: true, some: 1 << 20, while: 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var fleet nodeapi.Fleet
				here, there := net.Pipe()
				attached := goes(func() error { return session.Attach(&fleet, "n1", here) })
				ctx, cancel := context.WithCancel(t.Context())
				served := goes(func() error { session.Serve(ctx, there, from, nil, quiet); return nil })
				synctest.Wait()
				on, err := fleet.Node("n1")
				if err != nil {
					t.Fatal(err)
				}
				waits, stop := context.WithTimeout(t.Context(), 20*boundary.ImageTime)
				defer stop()
				began := time.Now()
				content, err := on.SaveImage(waits, "sha256:a", node.Part{})
				if err == nil {
					_, err = io.Copy(io.Discard, content)
					_ = content.Close()
				}
				if took := time.Since(began); !errors.Is(err, node.ErrNotConnected) || took > 2*boundary.ImageTime {
					t.Errorf("after %v: %v", took, err)
				}
				cancel()
				<-served
				<-attached
				time.Sleep(2 * time.Hour) // what it sends has ended
			})
		})
	}
}

// TestAnAnswerThatIsNotRead ends, and what it is made from is closed; one that is read slowly goes on.
func TestAnAnswerThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fleet nodeapi.Fleet
		here, there := net.Pipe()
		attached := goes(func() error { return session.Attach(&fleet, "n1", here) })
		ended := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		served := goes(func() error { session.Serve(ctx, there, endlessImage{named("a"), ended}, nil, quiet); return nil })
		synctest.Wait()
		on, err := fleet.Node("n1")
		if err != nil {
			t.Fatal(err)
		}
		content, err := on.SaveImage(t.Context(), "sha256:a", node.Part{})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			time.Sleep(boundary.ReadTime / 2)
			if _, err := io.CopyN(io.Discard, content, 1<<20); err != nil {
				t.Fatalf("read slowly: %v", err)
			}
		}
		time.Sleep(2 * boundary.ReadTime)
		select {
		case <-ended:
		default:
			t.Error("what nobody reads is still being sent")
		}
		_ = content.Close()
		cancel()
		<-served
		<-attached
	})
}
