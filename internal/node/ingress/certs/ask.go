package certs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"tend.dev/tend/internal/platform/confine"
)

const (
	// askTime bounds one request to an ask URL: a handshake waits for it.
	askTime = 5 * time.Second
	// refusalLife is the time for which a refusal, or a missing answer, is remembered. A client that floods the listener
	// with handshakes for a name therefore doesn't flood the ask URL.
	refusalLife = time.Minute
	// maxRefusals bounds the remembered refusals, maxAsking the concurrent requests. Further names are refused without a
	// request.
	maxRefusals = 10_000
	maxAsking   = 16
)

// asked asks an ask URL whether names may have certificates, and remembers refusals. It doesn't remember a yes: the
// certificate is stored.
type asked struct {
	client *http.Client
	now    func() time.Time

	mu       sync.Mutex
	refusals map[question]refusal
	asking   int
}

// question is a request to an ask URL: may the name have a certificate?
type question struct{ where, name string }

// refusal is a remembered refusal, or a missing answer, until a time.
type refusal struct {
	err   error
	until time.Time
}

func newAsked(client *http.Client, now func() time.Time) *asked {
	return &asked{client: client, now: now, refusals: map[question]refusal{}}
}

// allowed returns nil if a name may have a certificate: if the URL answers 200 for it.
func (a *asked) allowed(ctx context.Context, where, name string) error {
	q := question{where, name}
	if err := a.begin(q); err != nil {
		return err
	}
	err := a.ask(ctx, q)
	a.end(q, err)
	return err
}

// begin counts a request, unless its refusal is remembered or too many requests are in progress.
func (a *asked) begin(q question) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, refused := a.refusals[q]; refused && a.now().Before(known.until) {
		return known.err
	}
	if a.asking >= maxAsking {
		return fmt.Errorf("%s already has %d requests to answer: try %s later", q.where, a.asking, q.name)
	}
	a.asking++
	return nil
}

func (a *asked) end(q question, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asking--
	if err == nil {
		delete(a.refusals, q)
		return
	}
	if len(a.refusals) >= maxRefusals {
		a.forget()
	}
	a.refusals[q] = refusal{err: err, until: a.now().Add(refusalLife)}
}

// forget drops the expired refusals, or all refusals if that makes no room.
func (a *asked) forget() {
	now := a.now()
	for q, known := range a.refusals {
		if !now.Before(known.until) {
			delete(a.refusals, q)
		}
	}
	if len(a.refusals) >= maxRefusals {
		clear(a.refusals)
	}
}

func (a *asked) ask(ctx context.Context, q question) error {
	at, err := url.Parse(q.where)
	if err != nil {
		return err
	}
	query := at.Query()
	query.Set("domain", q.name)
	at.RawQuery = query.Encode()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("ask whether %s may have a certificate: %w", q.name, confine.Advised(err))
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 1<<10)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d for %s", at.Host, response.StatusCode, q.name)
	}
	return nil
}
