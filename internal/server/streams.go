package server

import (
	"fmt"
	"net/http"
	"sync"

	"tend.dev/tend/api"
)

// tokenPart is the share (one in tokenPart) of all streams that one access token may have open, and that access tokens
// leave to the socket and the server's own token, so that a person can always see what is going on.
const tokenPart = 10

// streams counts the open streams.
type streams struct {
	mu sync.Mutex
	// all counts all streams, named those of access tokens, and the map those of each token by its name.
	all, named int
	of         map[string]int
}

// begin counts a stream of an access token (with an empty name one of the server's own token), and returns an error if
// there are too many.
func (s *streams) begin(token string, most int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	share := max(most/tokenPart, 1)
	switch {
	case token != "" && s.of[token] >= share:
		return &api.Problem{Status: http.StatusTooManyRequests,
			Detail: fmt.Sprintf("the token %s has %d watches, waits, logs and commands open already", token, share),
			Next:   "close some, or use a token of its own for each program"}
	case s.all >= most, token != "" && s.named >= max(most-share, 1):
		return &api.Problem{Status: http.StatusServiceUnavailable,
			Detail: fmt.Sprintf("%d watches, waits, logs and commands are open already", s.all),
			Next:   "close some, or try again"}
	}
	s.all++
	if token != "" {
		if s.of == nil {
			s.of = map[string]int{}
		}
		s.named++
		s.of[token]++
	}
	return nil
}

// end undoes begin.
func (s *streams) end(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if token != "" {
		s.named--
		if s.of[token]--; s.of[token] == 0 {
			delete(s.of, token)
		}
	}
}
