package server

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"tend.dev/tend/api"
)

// The bounds of a join token.
const (
	defaultTokenTime = time.Hour
	maxTokenTime     = 24 * time.Hour
	maxTokenUses     = 1000
)

// joinBody describes a join token.
type joinBody struct{ Body api.JoinTokenRequest }

// join makes a token with which machines join as nodes, or as servers.
func (s *Server) join(ctx context.Context, in *joinBody) (api.JoinToken, error) {
	if s.Join == nil {
		return api.JoinToken{}, &api.Problem{Status: http.StatusNotImplemented, Detail: "this server has no nodes",
			Next: "tend version"}
	}
	asked, ttl, err := checkJoin(in.Body)
	if err != nil {
		return api.JoinToken{}, err
	}
	token, err := s.Join(ctx, asked, ttl, actorOf(ctx))
	if err == nil {
		s.Logger.Info("join token made", "token", token.ID, "role", token.Role, "node", token.Node, "actor", actorOf(ctx),
			"expires", token.ExpiresAt)
	}
	return token, err
}

// checkJoin validates a request and fills in its defaults.
func checkJoin(asked api.JoinTokenRequest) (api.JoinTokenRequest, time.Duration, error) {
	ttl := defaultTokenTime
	if asked.TTL != "" {
		var err error
		if ttl, err = time.ParseDuration(asked.TTL); err != nil || ttl < time.Second || ttl > maxTokenTime {
			return asked, 0, badRequest("give a duration such as 30m", "ttl is %s: from 1s to 24h", clip(asked.TTL))
		}
	}
	asked.Role = cmp.Or(asked.Role, api.JoinAsNode)
	asked.Uses = cmp.Or(asked.Uses, 1)
	switch {
	case asked.Role != api.JoinAsNode && asked.Role != api.JoinAsIngress && asked.Role != api.JoinAsServer:
		return asked, 0, badRequest("give node, ingress or server", "there is no role %q", clip(asked.Role))
	case asked.Uses < 1 || asked.Uses > maxTokenUses:
		return asked, 0, badRequest("give a number from 1 to 1000", "the number of uses is %d", asked.Uses)
	case asked.Node != "" && asked.Uses > 1:
		return asked, 0, badRequest("leave out the number of uses, or the name", "a token for one name is used once")
	case asked.Replace && (asked.Node == "" || asked.Role == api.JoinAsServer):
		return asked, 0, badRequest("name the node whose place is taken", "replace is for a token of one node's name")
	}
	return asked, ttl, nil
}

func (s *Server) joinTokens(context.Context, *struct{}) (api.ListResult[api.JoinTokenInfo], error) {
	if s.JoinTokens == nil {
		return api.ListResult[api.JoinTokenInfo]{Items: []api.JoinTokenInfo{}}, nil
	}
	return api.ListResult[api.JoinTokenInfo]{Items: s.JoinTokens()}, nil
}

type tokenPath struct {
	ID string `path:"id"`
}

func (s *Server) revokeToken(ctx context.Context, in *tokenPath) (api.JoinTokenInfo, error) {
	if s.RevokeToken == nil {
		return api.JoinTokenInfo{}, &api.Problem{Status: http.StatusNotFound, Detail: "there is no token " + clip(in.ID),
			Next: "tend nodes tokens"}
	}
	return api.JoinTokenInfo{ID: in.ID}, s.RevokeToken(ctx, in.ID)
}
