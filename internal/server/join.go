package server

import (
	"context"
	"net/http"
	"time"

	"tend.dev/tend/api"
)

// maxTokenTime bounds how long a join token is valid.
const maxTokenTime = 24 * time.Hour

// joinQuery says how long a join token is valid. Default an hour.
type joinQuery struct {
	TTL string `query:"ttl"`
	// Server asks for a token with which servers join.
	Server bool `query:"server"`
}

// join makes a token with which machines join as nodes, or as servers.
func (s *Server) join(ctx context.Context, in *joinQuery) (api.JoinToken, error) {
	ttl := time.Hour
	if in.TTL != "" {
		var err error
		if ttl, err = time.ParseDuration(in.TTL); err != nil || ttl < time.Second || ttl > maxTokenTime {
			return api.JoinToken{}, badRequest("give a duration such as 30m", "ttl is %q: from 1s to 24h", clip(in.TTL))
		}
	}
	if s.Join == nil {
		return api.JoinToken{}, &api.Problem{Status: http.StatusNotImplemented, Detail: "this server has no nodes", Next: "tend version"}
	}
	token, err := s.Join(ttl, in.Server)
	if err == nil {
		s.Logger.Info("join token made", "as_server", in.Server, "actor", actorOf(ctx), "expires", token.ExpiresAt)
	}
	return token, err
}
