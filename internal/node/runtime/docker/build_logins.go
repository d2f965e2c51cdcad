package docker

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/distribution/reference"
	"github.com/moby/buildkit/session/auth"
	"github.com/moby/moby/api/types/registry"
	"golang.org/x/crypto/nacl/sign"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tend.dev/tend/internal/node/runtime"
)

// baseAuths returns the credentials for the registries of a Dockerfile's base images, for the classic builder. Where
// no admin declared the build, it returns a token for each other registry, as confinedAuth does.
func (r *Runtime) baseAuths(ctx context.Context, spec runtime.BuildSpec) (map[string]registry.AuthConfig, error) {
	out, scopes := map[string]registry.AuthConfig{}, map[string][]string{}
	for _, base := range spec.Bases {
		named, err := reference.ParseNormalizedNamed(base)
		if err != nil {
			continue // the engine reports the fault and its place
		}
		auth, found, err := r.options.Auth(ctx, named.String())
		domain := reference.Domain(named)
		switch key := registryKey(base); {
		case err != nil:
			return nil, err
		case found:
			out[key] = registry.AuthConfig{
				Username: auth.Username, Password: auth.Password, IdentityToken: auth.IdentityToken, ServerAddress: key,
			}
		case spec.Confined && domain != hub:
			scopes[domain] = append(scopes[domain], pullScope(named))
		}
	}
	for domain, rights := range scopes {
		token, err := r.token(ctx, domain, rights...)
		switch {
		case errors.Is(err, errNoToken):
			return nil, noToken("build: base images of "+domain, domain)
		case err != nil || token == "":
			out[domain] = unasked
		default:
			out[domain] = registry.AuthConfig{RegistryToken: token}
		}
	}
	return out, ctx.Err()
}

// logins answers BuildKit's questions for logins and tokens.
type logins struct {
	auth.UnimplementedAuthServer
	provider AuthProvider
	// token is set for a build that no admin declared. BuildKit would ask any host that a registry's challenge names for
	// a token, also on its own machine. So it asks here; public and private are the keys by which it knows whose tokens
	// these are. They are the session's own: no other build gets its tokens, nor it those of others.
	token   func(ctx context.Context, domain string, scopes ...string) (string, error)
	public  *[32]byte
	private *[64]byte
}

func (r *Runtime) loginsFor(spec runtime.BuildSpec) (out logins, err error) {
	out.provider = r.options.Auth
	if spec.Confined {
		out.token = r.token
		out.public, out.private, err = sign.GenerateKey(rand.Reader)
	}
	return out, err
}

// Register implements session.Attachable.
func (l logins) Register(server *grpc.Server) { auth.RegisterAuthServer(server, l) }

// login returns the credentials for a host. confined is set if nobody declared any, and the node gets the tokens.
func (l logins) login(ctx context.Context, host string) (found Auth, confined bool, err error) {
	if host == "registry-1.docker.io" {
		host = hub
	}
	found, declared, err := l.provider(ctx, host+"/image")
	return found, !declared && l.token != nil && host != hub, err
}

// Credentials implements auth.AuthServer. An empty answer means that there are none: BuildKit asks for a token itself
// then, or uses one that it got for another build.
func (l logins) Credentials(ctx context.Context, request *auth.CredentialsRequest) (*auth.CredentialsResponse, error) {
	found, confined, err := l.login(ctx, request.Host)
	switch {
	case err != nil:
		return nil, err
	case confined:
		return nil, status.Error(codes.Unauthenticated, "no basic auth credentials")
	}
	return &auth.CredentialsResponse{Username: found.Username, Secret: first(found.IdentityToken, found.Password)}, nil
}

// GetTokenAuthority implements auth.AuthServer.
func (l logins) GetTokenAuthority(
	ctx context.Context, request *auth.GetTokenAuthorityRequest,
) (*auth.GetTokenAuthorityResponse, error) {
	if err := l.mayAsk(ctx, request.Host); err != nil {
		return nil, err
	}
	return &auth.GetTokenAuthorityResponse{PublicKey: l.public[:]}, nil
}

// mayAsk returns an error for a host whose tokens BuildKit gets itself.
func (l logins) mayAsk(ctx context.Context, host string) error {
	_, confined, err := l.login(ctx, host)
	if err == nil && !confined {
		return errOwnTokens
	}
	return err
}

// errOwnTokens has BuildKit get the tokens.
var errOwnTokens = status.Error(codes.Unimplemented, "the engine gets the tokens")

// VerifyTokenAuthority implements auth.AuthServer.
func (l logins) VerifyTokenAuthority(
	_ context.Context, request *auth.VerifyTokenAuthorityRequest,
) (*auth.VerifyTokenAuthorityResponse, error) {
	if l.token == nil {
		return nil, errOwnTokens
	}
	return &auth.VerifyTokenAuthorityResponse{Signed: sign.Sign(nil, request.Payload, l.private)}, nil
}

// FetchToken implements auth.AuthServer. Where the token comes from, the registry says again: not the request.
func (l logins) FetchToken(ctx context.Context, request *auth.FetchTokenRequest) (*auth.FetchTokenResponse, error) {
	if err := l.mayAsk(ctx, request.Host); err != nil {
		return nil, err
	}
	token, err := l.token(ctx, request.Host, request.Scopes...)
	if err != nil {
		return nil, err
	}
	return &auth.FetchTokenResponse{Token: first(token, unasked.RegistryToken)}, nil
}
