package sink

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/deadline"
	"tend.dev/tend/internal/core/notify"
	core "tend.dev/tend/internal/core/sink"
	"tend.dev/tend/internal/store/eventlog"
)

// batch is the number of events that are read at a time.
const batch = 100

// pump sends what one sink wants, by one generation of its spec.
type pump struct {
	*sinks
	object *api.Object
	spec   api.SinkSpec
	track  *track
	// say tells the steps how far the sink is.
	say    func(any)
	logger *slog.Logger
}

// change changes how far the sink is, and says it.
func (p *pump) change(h hurry, fn func(*api.SinkProgress)) {
	p.track.change(h, fn)
	p.say(*p.track)
}

// run sends until ctx ends or the receiver is gone.
func (p *pump) run(ctx context.Context) {
	step := p.events
	if p.spec.People() {
		step = p.people
	}
	for ctx.Err() == nil && step(ctx) {
	}
}

// events reads some events and sends those that are wanted. It returns false if nothing is to be sent any more.
func (p *pump) events(ctx context.Context) bool {
	events, next, err := p.read(ctx, ctx)
	if err != nil {
		return p.wait(ctx, time.Second)
	}
	for i := range events {
		e := &events[i]
		if !core.Wants(p.spec.Filter, p.object.Metadata.UID, *e, core.DataOf(*e)) {
			p.track.now.Position = e.ID // it is said with the next one, or with the last
			continue
		}
		p.change(unhurried, func(now *api.SinkProgress) { now.BehindSince = e.Time })
		if !p.send(ctx, core.Content{Event: e}, e.ID, func(now *api.SinkProgress) { now.Position = e.ID }) {
			return false
		}
	}
	p.change(unhurried, func(now *api.SinkProgress) {
		now.Position, now.BehindSince = next.String(),
			time.Time{}
	})
	return true
}

// read returns the next events. What was deleted before it could be read is skipped, counted and reported.
func (p *pump) read(ctx, reading context.Context) ([]api.Event, eventlog.Position, error) {
	for {
		after, err := eventlog.ParsePosition(p.track.now.Position)
		if err != nil {
			return nil, after, err
		}
		events, next, err := p.Log.Next(reading, after, batch)
		var gone *eventlog.GoneError
		if errors.As(err, &gone) && ctx.Err() == nil && gone.Oldest.Compare(after) > 0 {
			p.skip(after, gone.Oldest)
			continue
		}
		return events, next, err
	}
}

func (p *pump) skip(after, oldest eventlog.Position) {
	p.logger.Warn("events were deleted before this sink could send them", "after", after.String(), "until",
		oldest.String())
	p.Count(p.spec.Type(), CountSkipped)
	p.change(urgentSave, func(now *api.SinkProgress) {
		now.Gaps++
		now.Gap = &api.SinkGap{After: after.String(), Until: oldest.String(), At: p.deps.Now()}
		now.Position, now.Trying = oldest.String(), nil
	})
}

// people takes what happened into the causes, or sends a message that is due.
func (p *pump) people(ctx context.Context) bool {
	set := notify.SettingsOf(p.spec.Message)
	known, now := p.track.now.Causes, p.deps.Now()
	if message, ok := notify.Next(known, set, now); ok {
		return p.send(ctx, core.Content{Message: &message}, message.ID, func(next *api.SinkProgress) {
			next.Causes = notify.Sent(next.Causes, message, p.deps.Now())
		})
	}
	reading, cancel := ctx, context.CancelFunc(func() {})
	if due := notify.Due(known, set); !due.IsZero() {
		reading, cancel = context.WithTimeout(ctx, due.Sub(now))
	}
	defer cancel()
	events, next, err := p.read(ctx, reading)
	switch {
	case err != nil && reading.Err() != nil:
		return true
	case err != nil:
		return p.wait(ctx, time.Second)
	}
	soon := unhurried
	for _, e := range events {
		if signal, ok := core.SignalOf(p.spec.Filter, p.object.Metadata.UID, e); ok {
			signal.At = p.deps.Now()
			known, soon = notify.Observe(known, set, signal), normal
		}
	}
	p.change(soon, func(now *api.SinkProgress) { now.Position, now.Causes = next.String(), known })
	return true
}

// send tries until something is delivered or given up, and then has done applied. It returns false if ctx ended or the
// receiver is gone for good.
func (p *pump) send(ctx context.Context, content core.Content, id string, done func(*api.SinkProgress)) bool {
	if t := p.track.now.Trying; t != nil && t.ID == id {
		content.To = p.known(t.Left)
		if !p.wait(ctx, deadline.Left(t.NextAt, p.deps.Now(), core.MaxWait*6/5)) {
			return false
		}
	}
	for {
		outcome, _ := p.sender.Attempt(ctx, p.object.Ref(), p.spec, content)
		if ctx.Err() != nil {
			return false
		}
		answer, left := outcome.Answer, outcome.Each
		if len(outcome.Each) > 0 {
			if left = p.arrived(id, outcome.Each); len(left) == 0 {
				return p.concluded(done)
			}
			answer, content.To = core.Combined(left), addressesOf(left)
		}
		if verdict := core.Judge(answer); verdict != core.Retry {
			return p.ended(verdict, answer, id, done)
		}
		wait, again := p.failed(id, answer, content.To)
		switch {
		case !again && len(left) > 0:
			p.lost(id, left)
			return p.concluded(done)
		case !again:
			return p.ended(core.Refused, answer, id, done)
		}
		if !p.wait(ctx, wait) {
			return false
		}
	}
}

// failed records a failed attempt, and returns how long to wait. again is false if the time to try is over.
func (p *pump) failed(id string, answer core.Answer, left []string) (wait time.Duration, again bool) {
	p.Count(p.spec.Type(), CountRetried)
	now := p.deps.Now()
	p.change(normal, func(next *api.SinkProgress) {
		t := api.SinkAttempts{ID: id, Since: now}
		if next.Trying != nil && next.Trying.ID == id {
			t = *next.Trying
		}
		t.Attempts++
		t.Left = left
		wait = core.Wait(t.Attempts, answer.After, p.Spread())
		t.NextAt = now.Add(wait)
		next.Failed++
		next.LastError, next.LastErrorAt, next.Trying = core.Text(answer), now, &t
		if next.BehindSince.IsZero() {
			next.BehindSince = t.Since
		}
		again = now.Sub(t.Since) < p.spec.RetryFor.Or(api.DefaultSinkRetry)
	})
	p.logger.Debug("a sink is tried again", "id", id, "error", core.Text(answer), "after", wait)
	return wait, again
}

// ended records what became of something for good.
func (p *pump) ended(verdict core.Verdict, answer core.Answer, id string, done func(*api.SinkProgress)) bool {
	now, soon := p.deps.Now(), normal
	if p.spec.People() {
		soon = urgentSave
	}
	switch verdict {
	case core.Delivered:
		p.Count(p.spec.Type(), CountDelivered)
		p.change(soon, func(next *api.SinkProgress) {
			next.Sent++
			next.LastSentAt, next.Trying, next.BehindSince = now, nil, time.Time{}
			done(next)
		})
		return true
	case core.Gone:
		p.logger.Error("the receiver of a sink is gone for good: nothing is sent until the sink is changed")
		p.change(urgentSave, func(next *api.SinkProgress) {
			next.Failed++
			next.LastError, next.LastErrorAt, next.Gone = core.Text(answer), now, p.object.Metadata.Generation
		})
		return false
	}
	p.Count(p.spec.Type(), CountDead)
	p.logger.Warn("given up", "id", id, "error", core.Text(answer))
	p.change(urgentSave, func(next *api.SinkProgress) {
		next.Dead++
		next.LastError, next.LastErrorAt, next.Trying, next.BehindSince = core.Text(answer), now, nil, time.Time{}
		done(next)
	})
	return true
}

// wait waits; it returns false if ctx ended.
func (p *pump) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
