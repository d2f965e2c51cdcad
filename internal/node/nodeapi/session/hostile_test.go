package session_test

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/session"
)

// The most bytes that a server takes of an answer: one of one value, one of lines, and one that it doesn't read. A
// stream has a buffer besides.
const (
	ofAValue = 33 << 20
	ofALine  = 5 << 20
	notRead  = 2 << 20
	ofAPart  = 16 << 20 // of an image
)

// message is the row of a message: the server's call that sends it, and the answers that it takes for good.
type message struct {
	// call sends it and reads the answer, as servers do.
	call func(ctx context.Context, n nodeapi.Node) error
	// most is the number of bytes that the server takes of an answer. Default: ofAValue.
	most int64
	// takes are the hostile answers that are no error: such an answer looks like one of an honest node.
	takes []string
}

// TestEveryMessageHasItsRow: a message that is added says what a server makes of hostile answers to it.
func TestEveryMessageHasItsRow(t *testing.T) {
	patterns := session.Messages(&fake{})
	for _, pattern := range patterns {
		if messages[pattern].call == nil {
			t.Errorf("%s has no row in messages", pattern)
		}
	}
	for pattern := range messages {
		if !slices.Contains(patterns, pattern) {
			t.Errorf("%s has a row in messages, and no node answers it", pattern)
		}
	}
}

// The hostile answers.
const (
	anotherValue = "a value of another type"
	anObject     = "an object of something else"
	noJSON       = "a page of HTML"
	redirect     = "a redirect to the server's own machine"
	failure      = "an error without an end"
	oversized    = "a value without an end"
	blank        = "spaces without an end"
	values       = "values without an end"
	trickle      = "a space every ten seconds"
	begun        = "headers, and then nothing"
	silence      = "nothing"
	cut          = "half an answer, and a cut"
)

// hostile are the handlers of a node that answers every message so.
var hostile = map[string]http.HandlerFunc{
	anotherValue: says(200, `"x"`), anObject: says(200, `{"x":1}`), noJSON: says(200, "<html>ready</html>"),
	redirect:  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "http://127.0.0.1:8686/", 302) },
	failure:   goesOn(500, `{"detail":"`, strings.Repeat("x", 1<<16)),
	oversized: goesOn(200, `[{"Name":"`, strings.Repeat("x", 1<<16)),
	blank:     goesOn(200, " ", strings.Repeat(" ", 1<<16)),
	values:    goesOn(200, "", `{"line":{"text":"x"}}`+"\n"),
	trickle: func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Second)
		}
	},
	begun: func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	},
	silence: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	cut: func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"Name":"`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	},
}

func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// goesOn answers with a text again and again until nothing takes it any more.
func goesOn(status int, first, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, err := io.WriteString(w, first)
		for err == nil {
			_, err = io.WriteString(w, text)
		}
	}
}

// TestHostileAnswers: whatever a node answers to a message, the call ends with its context at the latest, the server
// takes no more bytes than it has room for, the node's half ends too, and the connection serves what comes next.
func TestHostileAnswers(t *testing.T) {
	for pattern, row := range messages {
		for kind, answer := range hostile {
			t.Run(pattern+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { answersHostilely(t, pattern, row, kind, answer) })
			})
		}
	}
}

func answersHostilely(t *testing.T, pattern string, row message, kind string, answer http.HandlerFunc) {
	var sent, open atomic.Int64
	honest := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") }
	mux := http.NewServeMux()
	mux.HandleFunc("/", honest)
	turn := false // after which it answers honestly
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if turn {
			honest(w, r)
			return
		}
		open.Add(1)
		defer open.Add(-1)
		answer(counting{w, &sent}, r)
	})
	n, end := attached(t, mux)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	began := time.Now()
	err := row.call(ctx, n)
	if takes := slices.Contains(row.takes, kind); (err == nil) != takes {
		t.Errorf("it ends with %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it takes %v", took)
	}
	cancel()
	time.Sleep(10 * time.Second) // a trickle notices its end with its next byte
	synctest.Wait()
	if sent.Load() > cmp.Or(row.most, ofAValue) {
		t.Errorf("the server takes %d bytes", sent.Load())
	}
	if open.Load() != 0 && pattern != "GET /ready" { // which is sent once, for as long as the connection
		t.Errorf("%d answers are still being sent", open.Load())
	}
	turn = true
	if _, err := n.List(t.Context()); err != nil {
		t.Errorf("the next request: %v", err)
	}
	end()
	synctest.Wait()
	time.Sleep(10 * time.Second)
}

// counting counts the bytes of an answer that were taken.
type counting struct {
	http.ResponseWriter
	sent *atomic.Int64
}

// Write implements io.Writer.
func (c counting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// Unwrap is for http.ResponseController.
func (c counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// attached connects a node whose answers a handler gives.
func attached(t *testing.T, answers http.Handler) (n nodeapi.Node, end func()) {
	t.Helper()
	var fleet nodeapi.Fleet
	here, there := net.Pipe()
	left := goes(func() error { return session.Attach(&fleet, "n1", here) })
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	once := make(chan net.Conn, 1)
	once <- there
	served := &http.Server{Handler: answers, Protocols: protocols}
	serves := goes(func() error { return served.Serve(oneConn{once}) })
	synctest.Wait()
	n, err := fleet.Node("n1")
	if err != nil {
		t.Fatal(err)
	}
	return n, func() {
		close(once)
		_ = there.Close()
		<-left
		<-serves
		_ = served.Close()
	}
}

type oneConn struct{ conns chan net.Conn }

// Accept implements net.Listener.
func (o oneConn) Accept() (net.Conn, error) {
	conn, open := <-o.conns
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Close implements net.Listener.
func (oneConn) Close() error { return nil }

// Addr implements net.Listener.
func (oneConn) Addr() net.Addr { return &net.TCPAddr{} }
