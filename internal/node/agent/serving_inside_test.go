package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/ingress"
	"tend.dev/tend/internal/node/ingress/certs"
	"tend.dev/tend/internal/node/nodeapi"
)

// TestARestartInPlaceDoesNotDrain: a container that is restarted because it isn't alive wouldn't finish its requests,
// and one that is to run again keeps its place.
func TestARestartInPlaceDoesNotDrain(t *testing.T) {
	a := &Agent{serving: &serving{}}
	if got := a.drainTime(t.Context(), api.Task{Desired: api.DesiredRunning}, false); got != 0 {
		t.Errorf("it drains for %s", got)
	}
}

// refuses is a control plane that takes no state of a proxy.
type refuses struct {
	nodeapi.Control
	err   error
	asked int
}

func (r *refuses) ReportIngress(context.Context, api.IngressNodeStatus) error {
	r.asked++
	return r.err
}

// idle is a proxy that nobody asks.
type idle struct{ Edge }

func (idle) States() (plain, secure ingress.ListenerState) {
	return ingress.ListenerState{Address: ":80"}, ingress.ListenerState{}
}
func (idle) Ports() map[string]ingress.ListenerState { return nil }

// TestARefusedReportIsSaidOnce: most machines serve no ingress. They try now and then, as that may change.
func TestARefusedReportIsSaidOnce(t *testing.T) {
	for err, want := range map[error]int{node.ErrForbidden: 10, errors.New("no answer"): 300} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			control := &refuses{err: err}
			s := &serving{a: &Agent{log: slog.New(slog.NewTextHandler(&log, nil))}, edge: idle{}, control: control,
				refreshed: make(chan struct{}, 1), reach: newReach(nil, nil)}
			s.reportSoon()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute-time.Millisecond)
			defer cancel()
			if err := s.report(ctx); err != nil {
				t.Fatal(err)
			}
			if lines := strings.Count(log.String(), "\n"); lines != 1 || control.asked != want {
				t.Errorf("%v: asked %d times, want %d; %d lines: %s", err, control.asked, want, lines, &log)
			}
		})
	}
}

// hangs is a control plane that never answers a report of a proxy.
type hangs struct{ nodeapi.Control }

func (hangs) Synced() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}
func (hangs) Served() node.Served           { return node.Served{} }
func (hangs) Relays() map[string]node.Relay { return nil }
func (hangs) ReportIngress(ctx context.Context, _ api.IngressNodeStatus) error {
	<-ctx.Done()
	return ctx.Err()
}

// counted is a proxy that counts its routing tables.
type counted struct {
	idle
	tables atomic.Int32
}

func (c *counted) Update([]ingress.Route, []certs.Policy) { c.tables.Add(1) }

// TestATableWaitsForNoReport: while the store doesn't answer, no request may go to a pod that is gone.
func TestATableWaitsForNoReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edge := &counted{}
		s := &serving{a: &Agent{log: slog.New(slog.DiscardHandler), control: hangs{}}, edge: edge, control: hangs{},
			wake: make(chan struct{}, 1), refreshed: make(chan struct{}, 1), reach: newReach(nil, nil)}
		ctx, cancel := context.WithCancel(t.Context())
		var members sync.WaitGroup
		members.Go(func() { _ = s.follow(ctx) })
		members.Go(func() { _ = s.report(ctx) })
		for n := range int32(3) {
			synctest.Wait()
			if tables := edge.tables.Load(); tables != n+1 {
				t.Errorf("%d routing tables after %d changes", tables, n)
			}
			s.changed()
		}
		cancel()
		members.Wait()
	})
}

// shares is a control plane with two ingresses of a host, of which one is a guest's.
type shares struct{ nodeapi.Control }

func (shares) Served() node.Served {
	spec := api.IngressSpec{Host: "bank.example"}
	return node.Served{Table: node.Table{Ingresses: []node.Ingress{
		{Ref: api.Ref{Kind: api.KindIngress, Scope: "bank", Name: "web"}, Spec: spec},
		{Ref: api.Ref{Kind: api.KindIngress, Scope: "shop", Name: "web"}, Spec: spec, Guest: true},
	}}}
}
func (shares) Relays() map[string]node.Relay { return nil }

// takes is a proxy that keeps its newest routes.
type takes struct {
	Edge
	routes []ingress.Route
}

func (t *takes) Update(routes []ingress.Route, _ []certs.Policy) { t.routes = routes }

// TestAGuestsRoutesAreKnown: the proxy learns which routes get no challenges of authorities.
func TestAGuestsRoutesAreKnown(t *testing.T) {
	edge := &takes{}
	(&serving{a: &Agent{}, edge: edge, control: shares{}, reach: newReach(nil, nil)}).refresh()
	if len(edge.routes) != 2 || edge.routes[0].Guest || !edge.routes[1].Guest {
		t.Errorf("the routes are %+v", edge.routes)
	}
}
