package clusterapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/boundary"
)

// body counts the bytes read from it. It is endless, or if silent is set, never delivers any.
type body struct {
	read, waiting *atomic.Int64
	silent        chan struct{}
}

// Read implements io.Reader.
func (b body) Read(p []byte) (int, error) {
	if b.silent != nil {
		b.waiting.Add(1)
		<-b.silent
		return 0, io.ErrUnexpectedEOF
	}
	for i := range p {
		p[i] = ' '
	}
	b.read.Add(int64(len(p)))
	return len(p), nil
}

// TestRegistrationsAreBounded: one without a credential has little read, and few bodies of its address at once.
func TestRegistrationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Options{})
		register := func(b body) int {
			request, answer := httptest.NewRequest(http.MethodPost, pull.RegisterPath, b), httptest.NewRecorder()
			request.Header.Set("Content-Type", pull.MediaType)
			h.ServeHTTP(answer, request)
			return answer.Code
		}
		endless := body{read: new(atomic.Int64)}
		if status := register(endless); status != http.StatusRequestEntityTooLarge ||
			endless.read.Load() > boundary.MaxJoin+4<<10 {
			t.Errorf("%d, %d bytes were read", status, endless.read.Load())
		}
		silent := body{waiting: new(atomic.Int64), silent: make(chan struct{})}
		for range 200 {
			go register(silent)
		}
		synctest.Wait()
		if got := silent.waiting.Load(); got != boundary.Joins {
			t.Errorf("%d bodies are waited for at once", got)
		}
		time.Sleep(2 * boundary.JoinWait)
		close(silent.silent)
	})
}
