package server

import (
	"context"
	"time"

	"tend.dev/tend/api"
)

func (s *Server) tokenRoutes() {
	typed(s, "GET", "/v1/tokens", "List the tokens of people and programs", s.tokens)
	typed(s, "POST", "/v1/tokens", "Make a token of a person or a program, with a role and scopes", s.addToken)
	typed(s, "DELETE", "/v1/tokens/{name}", "Revoke a token: what is open with it ends", s.endToken)
}

// tokenBody describes an access token to make.
type tokenBody struct{ Body api.AccessTokenRequest }

// addToken makes the token of a person or a program. Its secret is in this answer alone.
func (s *Server) addToken(ctx context.Context, in *tokenBody) (api.AccessToken, error) {
	noteToken(ctx, in.Body.Name)
	url, authority := s.remote()
	made, revision, err := s.Verbs.AddToken(ctx, in.Body, actorOf(ctx), authority)
	if err != nil {
		return api.AccessToken{}, err
	}
	s.settle(ctx, revision)
	made.Server = url
	if s.Local != nil {
		made.Local = s.Local()
	}
	s.Logger.InfoContext(ctx, "access token made", "token", made.Name, "role", string(made.Role), "scopes", made.Scopes, "actor", actorOf(ctx),
		"expires", made.ExpiresAt)
	return made, nil
}

// remote returns the URL at which other machines reach the server, and the authority of its certificate; empty texts if
// they can't.
func (s *Server) remote() (url, authority string) {
	if s.Remote == nil {
		return "", ""
	}
	return s.Remote()
}

// tokens lists the tokens by name, also those that have expired.
func (s *Server) tokens(context.Context, *struct{}) (api.ListResult[api.AccessTokenInfo], error) {
	out := api.ListResult[api.AccessTokenInfo]{Items: []api.AccessTokenInfo{}}
	snap, err := s.snapshot()
	if err != nil {
		return out, err
	}
	authority := s.nodeAuthority()
	for _, token := range snap.AccessTokens() {
		info := token.Value.AccessTokenInfo
		info.FormerAuthority = authority != "" && info.Authority != "" && info.Authority != authority
		out.Items = append(out.Items, info)
	}
	out.Revision = snap.Revision()
	return out, nil
}

// nodeAuthority returns the fingerprint of the authority of nodes, which also issues the certificates that tokens name,
// or "". Servers without a listener for people know it too.
func (s *Server) nodeAuthority() string {
	if s.Keys != nil {
		for _, key := range s.Keys() {
			if key.Name == api.KeyNodes {
				return key.Fingerprint
			}
		}
	}
	return ""
}

type tokenName struct {
	Name string `path:"name"`
}

// endToken revokes a token. Streams opened with it end when the view has the change: at the latest with this answer.
func (s *Server) endToken(ctx context.Context, in *tokenName) (api.AccessTokenInfo, error) {
	noteToken(ctx, in.Name)
	ended, revision, err := s.Verbs.RevokeToken(ctx, in.Name)
	if err != nil {
		return api.AccessTokenInfo{}, err
	}
	s.settle(ctx, revision)
	s.Logger.InfoContext(ctx, "access token revoked", "token", ended.Name, "role", string(ended.Role),
		"actor", actorOf(ctx))
	return ended, nil
}

// wrongTokenTime is the delay of an answer to a wrong token on the listener for other machines.
const wrongTokenTime = time.Second
