package server

import (
	"context"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// sessions are the open requests that came with access tokens. A request ends when its token is revoked or expires: so
// do watches, logs and commands, which may be open for days.
type sessions struct {
	mu sync.Mutex
	// open are the requests by the name of their token.
	open map[string]map[*session]bool
}

// session is one open request of a token.
type session struct {
	// token is the id of the token.
	token string
	end   context.CancelCauseFunc
}

// begin adds a request to its token's. The returned function must be called at the request's end.
func (s *sessions) begin(ctx context.Context, token records.AccessToken) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	begun := &session{token: token.ID, end: cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]map[*session]bool{}
	}
	if s.open[token.Name] == nil {
		s.open[token.Name] = map[*session]bool{}
	}
	s.open[token.Name][begun] = true
	expiry := time.AfterFunc(time.Until(token.ExpiresAt), func() { cancel(errTokenEnded) })
	return ctx, func() {
		expiry.Stop()
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.open[token.Name], begun); len(s.open[token.Name]) == 0 {
			delete(s.open, token.Name)
		}
	}
}

// follow ends the requests of a token that a change revoked or replaced. It runs on the view's feeding goroutine.
func (s *sessions) follow(change view.Change) {
	name, found := strings.CutPrefix(change.Key, records.AccessTokensPrefix)
	if !found {
		return
	}
	valid := ""
	if now, ok := change.New.(*records.AccessToken); ok {
		valid = now.ID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for open := range s.open[name] {
		if open.token != valid {
			open.end(errTokenEnded)
		}
	}
}
