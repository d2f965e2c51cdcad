package syncer

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"

	"golang.org/x/net/http/httpproxy"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/platform/confine"
	"tend.dev/tend/internal/platform/gitcmd"
)

// pin looks the name of a repository's host up, once for all calls of git in a poll. Of a source that is not trusted it
// could lead to this machine the next time. A URL that itself says that it is here is meant.
func (r *repository) pin(ctx context.Context) error {
	host, port := gitcmd.Host(r.spec.Git)
	if r.spec.Trusted || host == "" || here(net.JoinHostPort(host, port)) {
		return nil
	}
	found, err := confine.Lookup(ctx, host, r.s.Find)
	var notFound *net.DNSError
	switch {
	case errors.Is(err, confine.ErrRefused):
		return source.NewFault(api.ReasonFetchFailed, nextHere, "git: %s: %s", host, err)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &notFound) && r.proxied():
		return nil // the proxy looks names up
	case err != nil:
		return source.NewFault(api.ReasonFetchFailed, "correct the URL, or see why the server can't find the host",
			"git: %s: %s", host, err)
	}
	if _, err := netip.ParseAddr(host); err != nil {
		r.access.At = found // an address leads nowhere else
	}
	return nil
}

// nextHere tells the next step where a name leads to this machine.
const nextHere = "write that address in the URL if it is meant, or set trusted = true"

// proxied reports whether git reaches the repository through a proxy. It knows none over the protocol git, and curl,
// which it uses for the others, doesn't read HTTP_PROXY in capitals.
func (r *repository) proxied() bool {
	env := r.s.environ()
	use := httpproxy.Config{HTTPProxy: env["http_proxy"], HTTPSProxy: cmp.Or(env["https_proxy"], env["HTTPS_PROXY"]),
		NoProxy: cmp.Or(env["no_proxy"], env["NO_PROXY"])}
	at, err := url.Parse(r.spec.Git)
	if err != nil {
		return false
	}
	through, err := use.ProxyFunc()(at)
	return err == nil && through != nil
}
