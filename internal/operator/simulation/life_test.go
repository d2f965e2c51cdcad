//go:build simulate

package simulation

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"tend.dev/tend/internal/operator"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// life is one process of the operator, from its start until it is killed.
type life struct {
	w      *World
	dead   atomic.Bool
	cancel context.CancelFunc
	ended  chan error
}

var errKilled = errors.New("killed")

// start starts an operator.
func (w *World) start() {
	if w.life != nil && !w.life.dead.Load() {
		return
	}
	w.kill()
	w.oracle.forgive(w.eventsOf())
	w.lives++
	w.plane.listen.mend()
	ctx, cancel := context.WithCancel(w.ctx)
	l := &life{w: w, cancel: cancel, ended: make(chan error, 1)}
	w.life = l
	var log *slog.Logger
	if w.opts.Log != nil {
		log = slog.New(slog.NewTextHandler(w.opts.Log, nil)).With("life", w.lives)
	}
	config := &rest.Config{
		Host: "http://cluster", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
		Transport: w.cluster.As(cluster.Client{Name: "operator", Before: l.before, After: l.after, Lag: w.weather}),
	}
	w.parts.Go(func() {
		for ctx.Err() == nil {
			made, err := operator.NewManager(config, operator.Options{
				Namespace: system, Version: "simulated", Logger: log, VeleroNamespace: "velero", Retry: 10 * time.Minute,
			})
			if err == nil {
				err = made.Start(ctx)
			}
			if err != nil && ctx.Err() == nil {
				w.storyf("the operator ends, and is started again: %v", err)
			}
			select {
			case <-time.After(10 * time.Second): // as Kubernetes starts a container again
			case <-ctx.Done():
			}
		}
		close(l.ended)
	})
}

// kill kills the operator, if it runs: from now on none of its requests reaches anything.
func (w *World) kill() {
	l := w.life
	if l == nil {
		return
	}
	w.life = nil
	l.die()
	<-l.ended
}

func (l *life) die() {
	if l.dead.Swap(true) {
		return
	}
	l.w.oracle.died.Store(time.Now().UnixNano())
	l.w.plane.listen.cut()
	l.cancel()
}

// before lets a request reach the API server, or not.
func (l *life) before(r cluster.Request) error {
	if l.dead.Load() {
		return errKilled
	}
	if err := l.w.weather.before(r); err != nil {
		return err
	}
	if l.dead.Load() || r.IsWrite() && l.w.weather.kills() {
		l.die()
		return errKilled
	}
	return nil
}

// after lets an answer reach the operator, or not.
func (l *life) after(r cluster.Request) error {
	if r.IsWrite() && l.w.weather.kills() {
		l.die()
	}
	if l.dead.Load() {
		return errKilled
	}
	return l.w.weather.after(r)
}
