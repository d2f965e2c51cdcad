package certs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/internal/platform/delay"
)

// The pauses between attempts to serve a host's certificate, doubled with each failure.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// persist has a host's certificate served, and retries until ctx ends. certmagic's own ManageAsync retries only the
// authority: after one failure of the storage the host would have no certificate until its policy changes.
func (m *Manager) persist(ctx context.Context, config *certmagic.Config, host string) {
	if m.cached(host) {
		return // by another policy
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := m.obtain(ctx, config, host)
		if err == nil || ctx.Err() != nil {
			return
		}
		m.note(host, State{Error: err.Error(), At: time.Now()})
		if delay.For(ctx, pause) != nil {
			return
		}
	}
}

// obtain caches the stored certificate of a host, which is renewed at once if that is due, or obtains the first one.
// Events report each attempt with the authority, and each certificate that is cached.
func (m *Manager) obtain(ctx context.Context, config *certmagic.Config, host string) error {
	stored, err := load(ctx, config, host)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := config.ObtainCertAsync(ctx, host); err != nil {
			return err
		}
		_, err = load(ctx, config, host)
		return err
	case err != nil || !stored.NeedsRenewal(config):
		return err
	}
	if err := config.RenewCertAsync(ctx, host, false); err != nil {
		return err
	}
	renewed, err := load(ctx, config, host)
	if err == nil && renewed.Hash() != stored.Hash() {
		m.cache.Remove([]string{stored.Hash()})
	}
	return err
}

// load caches the stored certificate of a host: it is served from now on.
func load(ctx context.Context, config *certmagic.Config, host string) (certmagic.Certificate, error) {
	stored, err := config.CacheManagedCertificate(ctx, host)
	if err != nil {
		err = fmt.Errorf("load the stored certificate: %w", err)
	}
	return stored, err
}
