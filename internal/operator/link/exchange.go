package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/operator/puller"
)

// exchange requests a new credential, stores it and records the outcome.
func (c *Connection) exchange(ctx context.Context, w Wanted, running *session) {
	err := c.request(ctx, w, running)
	c.mu.Lock()
	c.exchanging = false
	if c.ends == nil {
		c.ends = map[ExchangeKind]Outcome{}
	}
	if ctx.Err() == nil && w.UID == c.wanted.UID {
		c.ends[w.Exchange.Kind] = outcome(w.Exchange, err, c.Now())
	}
	c.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		c.Log.WarnContext(ctx, "the control plane gave no credential", "error", fmt.Errorf("%s: %w", w.Exchange.Kind, err))
	}
	c.Notify()
}

func (c *Connection) request(ctx context.Context, w Wanted, running *session) error {
	if w.Exchange.Kind == Rotate {
		if running == nil || running.puller == nil {
			return errors.New("no connection is running whose credential could be rotated")
		}
		if err := running.puller.Rotate(ctx); err != nil {
			return err
		}
		running.puller.Emit(pull.Event{
			Kind: eventRotated, ResourceRef: clusterRef(w.Link.ClusterID), Timestamp: c.Now().UTC(),
		})
		return nil
	}
	client, err := newHTTP(w.Link, &trips{now: c.Now})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	a := c.newPuller(w, c.store(w, true), client, nil, nil)
	_, err = a.Register(ctx, w.Exchange.Token, w.Link.ClusterID, "")
	return err
}

// outcome classifies the end of an exchange. Only an explicit answer counts as a refusal.
func outcome(e Exchange, err error, now time.Time) Outcome {
	o := Outcome{For: e.For, At: now}
	if err == nil {
		return o
	}
	o.Message = err.Error()
	var answered *puller.StatusError
	var network *url.Error
	switch {
	case errors.As(err, &answered):
		o.Failure = Unreachable
		if answered.Status < http.StatusInternalServerError && answered.Status != http.StatusTooManyRequests {
			o.Failure = Refused
		}
	case errors.As(err, &network), errors.Is(err, context.DeadlineExceeded):
		o.Failure = Unreachable
	default:
		o.Failure = Local
	}
	return o
}

type httpClient = *http.Client

// newHTTP returns a client that trusts a control plane. It follows no redirects: they could take the token elsewhere.
func newHTTP(link Link, record *trips) (httpClient, error) {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the standard transport was replaced")
	}
	transport = transport.Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: link.Trust.ServerName}
	if link.Trust.Authority != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(link.Trust.Authority)) {
			return nil, fmt.Errorf("%s in the registration Secret has no certificate in PEM", tokenAuthority)
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	// A cut link causes no error, so an idle connection is pinged, and closed if there is no answer.
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 10 * time.Second,
		MaxEncoderHeaderTableSize: boundary.HeaderTable}
	record.next = transport
	return &http.Client{
		Transport: record, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// trips carries requests, and records the time of the last successful one.
type trips struct {
	next *http.Transport
	now  func() time.Time

	mu sync.Mutex
	at time.Time
}

// RoundTrip implements http.RoundTripper.
func (t *trips) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err == nil && response.StatusCode < http.StatusMultipleChoices {
		t.mu.Lock()
		t.at = t.now()
		t.mu.Unlock()
	}
	return response, err
}

// CloseIdleConnections closes the unused connections.
func (t *trips) CloseIdleConnections() { t.next.CloseIdleConnections() }

func (t *trips) last() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at
}
