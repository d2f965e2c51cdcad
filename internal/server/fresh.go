package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// freshTime bounds how long a read waits for the changes of other servers. After a read has waited in vain, others
// don't wait as long: a command that reads several things waits once.
const (
	freshTime = time.Second
	freshText = "1s"
)

// freshen waits until the view has everything that any server stored before a read arrived. If that can't be
// established in time, the read is answered from the view, and the answer is marked stale.
func (s *Server) freshen(w http.ResponseWriter, r *http.Request) {
	if s.Fresh == nil || !readsView(r) {
		return
	}
	if last := s.stale.Load(); last != nil && time.Now().Before(last.until) {
		w.Header().Set(api.HeaderStale, last.why)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), freshTime)
	defer cancel()
	err := s.Fresh(ctx)
	if err == nil {
		s.markPaused(w) // another server may have begun or ended the pause
		return
	}
	why := strings.Join(strings.Fields(err.Error()), " ")
	if errors.Is(err, context.DeadlineExceeded) {
		why = "the store did not answer within " + freshText
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.stale.Store(&staleness{why, time.Now().Add(freshTime)})
	}
	w.Header().Set(api.HeaderStale, why)
}

// staleness is that of the view, after a read waited in vain for the store.
type staleness struct {
	why   string
	until time.Time // no other read waits before
}

// readsView reports whether a request is answered from the view. The readiness of a pod is answered without waiting:
// load balancers ask for it. The list of servers doesn't need the store.
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
