package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// wait is one write to wait for.
type wait struct {
	api.Awaited
	// build is the build of the object's image; empty if the image is declared.
	build string
	// answered: the command prints on stdout where an ingress is served, so the progress doesn't say so too.
	answered bool
}

// seen is a write with what has become of it.
type seen struct {
	wait
	api.Outcome
}

// answeredBelow reports whether the command's own line says what became of the object.
func (s seen) answeredBelow() bool {
	return s.answered && s.State == api.OutcomeConverged && s.Reason == api.ReasonServed
}

// await asks for the outcomes until each write has one. The server may go away and come back in between.
func (a *app) await(ctx context.Context, c *client.Client, waits []wait, timeout time.Duration) error {
	if len(waits) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	show := a.newProgress(waits)
	logs := a.newBuildLogs(ctx, c)
	defer logs.stop()
	w := watched{client: c, waits: waits}
	began := time.Now()
	for {
		rest, err := rhythm(time.Since(began)), w.next(ctx, show)
		switch {
		case err == nil:
			show.update(w.last)
			logs.update(w.last)
			if settled(w.last) {
				a.warnOf(w.last)
				return verdict(w.last)
			}
		case busy(err):
			rest = time.Second
		case ctx.Err() == nil && !transient(err):
			return err
		case ctx.Err() == nil:
			show.away(c.Server())
		}
		if err := pause(ctx, rest); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				show.timedOut()
				return timedOut(w.last, timeout)
			}
			return fmt.Errorf("%w; the server carries on with the change (`tend get` shows it)", err)
		}
	}
}

// busy reports that the server has no place for a question about what it has stored: it is asked again until it has.
func busy(err error) bool { return client.StatusOf(err) == http.StatusTooManyRequests }

// rhythm returns the least interval between two questions. It is short at first, because most waits are short.
func rhythm(passed time.Duration) time.Duration {
	if passed < 3*time.Second {
		return 25 * time.Millisecond
	}
	return 100 * time.Millisecond
}

// watched are writes whose outcomes are followed.
type watched struct {
	client   *client.Client
	waits    []wait
	revision int64
	last     []seen
}

// tickTime is the interval of a progress display while nothing changes.
const tickTime = 100 * time.Millisecond

// next waits until the state has changed since the last answer, and reads the outcomes.
func (w *watched) next(ctx context.Context, show progress) error {
	request := api.AwaitRequest{Since: w.revision}
	for _, wait := range w.waits {
		request.Objects = append(request.Objects, wait.Awaited)
	}
	type answer struct {
		api.AwaitResult
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		result, err := w.client.Await(ctx, request)
		answered <- answer{result, err}
	}()
	tick := time.NewTicker(tickTime)
	defer tick.Stop()
	for {
		select {
		case got := <-answered:
			if got.err == nil && len(got.Outcomes) != len(w.waits) {
				got.err = fmt.Errorf("the server answered about %d of %d objects", len(got.Outcomes), len(w.waits))
			}
			if got.err != nil {
				w.revision = 0
				return got.err
			}
			w.revision, w.last = got.Revision, make([]seen, len(w.waits))
			for i, wait := range w.waits {
				w.last[i] = seen{wait, got.Outcomes[i]}
			}
			return nil
		case <-tick.C:
			show.tick()
		}
	}
}

// transient reports whether the server did not answer properly: it may be restarting.
func transient(err error) bool {
	if gone, ok := errors.AsType[*client.UnreachableError](err); ok {
		return !gone.Denied()
	}
	return errors.Is(err, io.ErrUnexpectedEOF) || client.StatusOf(err) >= 500
}
