package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/ingress"
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
