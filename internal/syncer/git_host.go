package syncer

import (
	"context"
	"errors"
	"net"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/confine"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/gitcmd"
)

// pin looks the name of a repository's host up, once for all calls of git in a poll. Of a source that is not trusted
// it could lead to this machine the next time. A URL that itself says that it is here is meant.
func (r *repository) pin(ctx context.Context) (err error) {
	host, port := gitcmd.Host(r.spec.Git)
	if r.spec.Trusted || host == "" || here(net.JoinHostPort(host, port)) {
		return nil
	}
	r.access.At, err = confine.Lookup(ctx, host, r.s.Find)
	switch {
	case errors.Is(err, confine.ErrRefused):
		return source.NewFault(api.ReasonFetchFailed, nextHere, "%s: %s", host, err)
	case err != nil && r.proxied():
		return nil // the proxy looks names up
	}
	return err
}

// nextHere tells the next step where a name leads to this machine.
const nextHere = "write that address in the URL if it is meant, or set trusted = true"

// proxied reports whether git may reach the repository through a proxy.
func (r *repository) proxied() bool {
	env := r.s.environ()
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"} {
		if env[name] != "" {
			return true
		}
	}
	return false
}
