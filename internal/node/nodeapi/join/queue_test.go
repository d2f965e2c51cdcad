package join_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/platform/routemux"
)

// desk returns the paths of one, without a connection.
func desk(t *testing.T) http.Handler {
	t.Helper()
	ca, err := authority.Found("test", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	mux := routemux.New()
	join.Desk{Authority: ca}.Register(mux)
	return mux
}

// endless is a body that never ends; it counts what is read of it.
type endless struct{ read int }

// Read implements io.Reader.
func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	if e.read == 0 {
		copy(p, `{"token":"`)
	}
	e.read += len(p)
	return len(p), nil
}

// TestAMachineWithoutACertificateSendsLittle: no more is read of what it sends than fits a request, at each path.
func TestAMachineWithoutACertificateSendsLittle(t *testing.T) {
	for _, path := range []string{"/node/v1/join", "/node/v1/renew", "/server/v1/join"} {
		body, answer := &endless{}, httptest.NewRecorder()
		desk(t).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, body))
		if body.read > boundary.MaxJoin+4<<10 || answer.Code != http.StatusBadRequest {
			t.Errorf("%s: read %d bytes, answered %d", path, body.read, answer.Code)
		}
	}
}

// silent is a body that doesn't come; it counts those that wait for it.
type silent struct {
	waiting *atomic.Int32
	over    chan struct{}
}

// Read implements io.Reader.
func (s silent) Read([]byte) (int, error) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	<-s.over
	return 0, io.ErrUnexpectedEOF
}

// TestFewMachinesJoinAtOnce: what is held of bodies that don't come is bounded, and one address leaves others room.
func TestFewMachinesJoinAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paths, over := desk(t), make(chan struct{})
		var waiting, busy atomic.Int32
		ask := func(from string, body io.Reader) *httptest.ResponseRecorder {
			request, answer := httptest.NewRequest(http.MethodPost, "/node/v1/join", body), httptest.NewRecorder()
			request.RemoteAddr = from
			paths.ServeHTTP(answer, request)
			if answer.Code == http.StatusTooManyRequests && answer.Header().Get("Retry-After") != "" {
				busy.Add(1)
			}
			return answer
		}
		for range 200 {
			go ask("192.0.2.1:1", silent{&waiting, over})
		}
		synctest.Wait()
		if got := waiting.Load(); got != boundary.Joins {
			t.Errorf("%d bodies of one address are read at once", got)
		}
		if answer := ask("192.0.2.2:1", strings.NewReader(`{}`)); answer.Code != http.StatusUnauthorized {
			t.Errorf("another address: %d", answer.Code)
		}
		time.Sleep(2 * boundary.JoinWait)
		if got := busy.Load(); got != 200-boundary.Joins {
			t.Errorf("%d were told to come again", got)
		}
		for address := range 200 {
			for range 20 {
				go ask("[2001:db8:0:"+string("0123456789abcdef"[address/16])+string("0123456789abcdef"[address%16])+"::1]:1",
					silent{&waiting, over})
			}
		}
		synctest.Wait()
		if got := waiting.Load(); got != boundary.AllJoins {
			t.Errorf("%d bodies are read at once", got)
		}
		time.Sleep(2 * boundary.JoinWait)
		close(over)
	})
}

// TestWrongTokensOfAnAddress: after some it waits, before its next body is read; others don't.
func TestWrongTokensOfAnAddress(t *testing.T) {
	paths := desk(t)
	ask := func(from string) int {
		request, answer := httptest.NewRequest(http.MethodPost, "/node/v1/join", strings.NewReader(`{"token":"wrong"}`)),
			httptest.NewRecorder()
		request.RemoteAddr = from
		paths.ServeHTTP(answer, request)
		return answer.Code
	}
	tries := 0
	for ; tries < 1000 && ask("192.0.2.1:1") == http.StatusUnauthorized; tries++ {
	}
	if tries < boundary.WrongTokenBurst || tries == 1000 {
		t.Errorf("%d wrong tokens were looked at", tries)
	}
	if got := ask("192.0.2.2:1"); got != http.StatusUnauthorized {
		t.Errorf("another address: %d", got)
	}
}
