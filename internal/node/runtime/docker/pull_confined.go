package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/confine"
)

// Outside limits the reach of pulls that no admin declared.
type Outside struct {
	// Allow returns an error for the host of a registry that may not be asked.
	Allow func(ctx context.Context, host string) error
	// Transport asks for tokens.
	Transport http.RoundTripper
}

func (o Outside) orDefault() Outside {
	if o.Allow == nil {
		o.Allow = func(ctx context.Context, host string) error {
			return confine.Allow(ctx, host, net.DefaultResolver.LookupNetIP)
		}
	}
	if o.Transport == nil {
		o.Transport = confine.Transport(http.DefaultTransport.(*http.Transport))
	}
	return o
}

const (
	// hub is the domain of references that name no registry.
	hub = "docker.io"
	// tokenTime bounds the requests for a token, and maxTokenAnswer each answer.
	tokenTime      = 30 * time.Second
	maxTokenAnswer = 1 << 20
)

// confinedAuth returns the credentials for a pull that no admin declared. The engine would ask any host that a
// registry's challenge names for a token, also on its own machine, and hand the answer to the registry. So it gets a
// token with the pull, and asks nobody.
func (r *Runtime) confinedAuth(ctx context.Context, named reference.Named) (string, error) {
	domain := reference.Domain(named)
	if domain == hub {
		return "", nil
	}
	operation := "pull image " + reference.FamiliarString(named)
	token, err := r.token(ctx, domain, pullScope(named))
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", operation, ctx.Err())
	case errors.Is(err, confine.ErrRefused):
		return "", &runtime.RejectedError{
			Reason: "RegistryRefused", Detail: fmt.Sprintf("%s: %s: no admin declared this image", operation, err),
			Next: "use a registry elsewhere, or have an admin apply a registry for " + domain,
		}
	case errors.Is(err, errNoToken):
		return "", noToken(operation, domain)
	case errors.Is(err, errUnfound):
		return "", &runtime.TransientError{Reason: "RegistryUnreachable",
			Detail: fmt.Sprintf("%s can't look up %s to %s", r.place(), domain, operation),
			Next:   "correct `image`, or the DNS of " + r.place() + "; Tend retries"}
	case err != nil || token == "":
		return authconfig.Encode(unasked)
	}
	return authconfig.Encode(registry.AuthConfig{RegistryToken: token})
}

func noToken(operation, domain string) error {
	return &runtime.TransientError{Reason: "RegistryFailed", Detail: operation + ": " + errNoToken.Error(),
		Next: "Tend retries; if it stays, have an admin apply a registry for " + domain}
}

// pullScope is the right to pull an image, in the words of a registry's token service.
func pullScope(named reference.Named) string { return "repository:" + reference.Path(named) + ":pull" }

// errNoToken is the error of a registry that demands a token which the node doesn't get.
var errNoToken = errors.New("the registry demands a token, and where it sends for one gives none")

// errUnfound is the error of a registry whose addresses the node can't look up: the engine might find others.
var errUnfound = errors.New("the node can't look up the registry")

// unasked are the credentials for a registry that demands no token, or that the node can't ask: it may be one that only
// the engine is set up for. The engine pulls without a token, or reports why it can't.
var unasked = registry.AuthConfig{RegistryToken: "none"}

// token asks a registry, or the place that it names, for a token with some scopes.
func (r *Runtime) token(ctx context.Context, domain string, scopes ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tokenTime)
	defer cancel()
	switch err := r.options.Outside.Allow(ctx, (&url.URL{Host: domain}).Hostname()); {
	case errors.Is(err, confine.ErrRefused):
		return "", err
	case err != nil:
		return "", fmt.Errorf("%w: %w", errUnfound, err)
	}
	at, err := name.NewRegistry(domain)
	if err != nil {
		return "", err
	}
	through := bounded{r.options.Outside.Transport}
	challenge, err := transport.Ping(ctx, at, through)
	if err != nil || !strings.EqualFold(challenge.Scheme, "bearer") {
		return "", err
	}
	token, err := transport.Exchange(ctx, at, authn.Anonymous, through, scopes, challenge)
	switch {
	case errors.Is(err, confine.ErrRefused):
		return "", err
	case err != nil:
		return "", errNoToken
	case token.Token != "":
		return token.Token, nil
	}
	return token.AccessToken, nil
}

// bounded is a transport that ends answers after some bytes.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxTokenAnswer), response.Body}
	}
	return response, err
}

// confinedFault classifies the error of such a pull. A registry may have redirected the engine to its own machine: of
// what answered there nothing is repeated but the words by which Tend knows a fault. begun is set once the engine had
// the manifest: then a refusal is the end of a token's life, which a pull of many layers may outlast.
func (r *Runtime) confinedFault(ctx context.Context, named reference.Named, begun bool, err error) error {
	if ctx.Err() != nil || unavailable(err) && !cerrdefs.IsUnavailable(err) {
		return r.pullFault(ctx, named, err)
	}
	fault := r.pullFault(ctx, named, errors.New(cmp.Or(knownWords(engineText(err)), "the registry gives no such image")))
	var refused *runtime.RejectedError
	if begun && errors.As(fault, &refused) && refused.Reason == "Unauthorized" {
		return &runtime.TransientError{Reason: "PullInterrupted", Detail: refused.Detail,
			Next: "Tend retries; if it stays, have an admin apply a registry for " + reference.Domain(named)}
	}
	return fault
}
