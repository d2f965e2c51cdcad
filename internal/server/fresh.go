package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// freshTime bounds how long a read waits for what other servers have stored. After one has waited in vain, others don't
// wait for as long: a command that reads several things waits once.
const (
	freshTime = time.Second
	freshText = "1s"
)

// freshen waits until the view has all that any server has stored before a read was asked. If that can't be known in
// time, the read is answered from what is known, and the answer says so.
func (s *Server) freshen(w http.ResponseWriter, r *http.Request) {
	if s.Fresh == nil || !readsView(r) {
		return
	}
	const silent = "the store did not answer within " + freshText
	if time.Now().UnixNano() < s.silentUntil.Load() {
		w.Header().Set(api.HeaderStale, silent)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), freshTime)
	defer cancel()
	err := s.Fresh(ctx)
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded):
		s.silentUntil.Store(time.Now().Add(freshTime).UnixNano())
		w.Header().Set(api.HeaderStale, silent)
	default:
		w.Header().Set(api.HeaderStale, strings.Join(strings.Fields(err.Error()), " "))
	}
}

// readsView reports whether a request is answered from the view. A pod's readiness is answered at once, from what is
// known: load balancers ask for it. The servers are known without the store.
func readsView(r *http.Request) bool {
	path := r.URL.Path
	switch {
	case path == "/v1/await":
		return true
	case r.Method != http.MethodGet || !strings.HasPrefix(path, "/v1/"):
		return false
	}
	for _, other := range []string{"/v1/servers", "/v1/blobs/", "/v1/backup", "/v1/ingress/ca"} {
		if strings.HasPrefix(path, other) {
			return false
		}
	}
	return !strings.HasSuffix(path, "/ready")
}
