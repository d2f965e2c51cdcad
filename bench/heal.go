package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	engine "github.com/moby/moby/client"
)

// heal measures the time from a container's kill by hand until its replacement runs, by the engine's events on all
// sides: Tend's, a loop that starts the container as soon as it gets the event of its death, and the engine's own
// restart policy (which treats a kill through its API as intended, so there the process is killed).
func heal(ctx context.Context, l *harness) error {
	d := l.deployment(l.pairs)
	if _, err := d.deploy(ctx); err != nil {
		return err
	}
	pods, err := d.pods(ctx)
	if err != nil {
		return err
	}
	turn := -1
	t, err := l.take(ctx, "heal", l.pairs, side{"loop", l.healLoop},
		side{"tend", func(ctx context.Context) (time.Duration, error) {
			turn++ // another pod each time: Tend delays the restart of one that ends over and over
			return l.healTend(ctx, pods[turn].Container)
		}}, side{"policy", l.healPolicy})
	if err != nil {
		return err
	}
	compare("heal", t, "tend", "loop", "event-loop")
	ratio("heal", t.ratio("tend", "policy"), "restart-policy")
	duration("heal-policy", t.median("policy"))
	return d.remove(ctx)
}

// healTend kills one pod's container; whichever container of the run starts next is its replacement.
func (l *harness) healTend(ctx context.Context, id string) (time.Duration, error) {
	stream, stop := l.listen(ctx, events.ActionStart)
	defer stop()
	began := time.Now()
	if err := l.kill(ctx, id); err != nil {
		return 0, err
	}
	_, err := next(ctx, stream)
	return time.Since(began), err
}

// healLoop measures the loop that restarts a container as soon as it gets the event of its death.
func (l *harness) healLoop(ctx context.Context) (time.Duration, error) {
	id, err := l.raw.run(ctx, l.images[0], nil)
	if err != nil {
		return 0, err
	}
	deaths, stop := l.listen(ctx, events.ActionDie)
	defer stop()
	began := time.Now()
	if err := l.kill(ctx, id); err != nil {
		return 0, err
	}
	if _, err := next(ctx, deaths); err != nil {
		return 0, err
	}
	if _, err := l.engine.ContainerStart(ctx, id, engine.ContainerStartOptions{}); err != nil {
		return 0, err
	}
	took := time.Since(began)
	return took, l.raw.drop(ctx, id)
}

func (l *harness) healPolicy(ctx context.Context) (time.Duration, error) {
	id, err := l.raw.run(ctx, l.images[0], func(h *container.HostConfig) {
		h.RestartPolicy = container.RestartPolicy{Name: container.RestartPolicyAlways}
	})
	if err != nil {
		return 0, err
	}
	inspected, err := l.engine.ContainerInspect(ctx, id, engine.ContainerInspectOptions{})
	if err != nil {
		return 0, err
	}
	stream, stop := l.listen(ctx, events.ActionStart)
	defer stop()
	began := time.Now()
	if err := syscall.Kill(inspected.Container.State.Pid, syscall.SIGKILL); err != nil {
		return 0, fmt.Errorf("kill the container's process (the bench runs as root, beside the engine): %w", err)
	}
	if _, err := next(ctx, stream); err != nil {
		return 0, err
	}
	took := time.Since(began)
	return took, l.raw.drop(ctx, id)
}

func (l *harness) kill(ctx context.Context, id string) error {
	_, err := l.engine.ContainerKill(ctx, id, engine.ContainerKillOptions{Signal: "SIGKILL"})
	return err
}

// listen subscribes to events of this run's containers, from the engine's present time on, so that events before its
// answer are included.
func (l *harness) listen(ctx context.Context, action events.Action) (engine.EventsResult, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	now := time.Now()
	return l.engine.Events(ctx, engine.EventsListOptions{
		Since: fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond()),
		Filters: make(engine.Filters).Add("type", string(events.ContainerEventType)).Add("event", string(action)).
			Add("label", runLabel+"="+l.id),
	}), cancel
}

// next returns the next event of a stream, within patience.
func next(ctx context.Context, stream engine.EventsResult) (events.Message, error) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case message := <-stream.Messages:
		return message, nil
	case err := <-stream.Err:
		return events.Message{}, err
	case <-timeout.C:
		return events.Message{}, errors.New("no event of the engine came")
	case <-ctx.Done():
		return events.Message{}, context.Cause(ctx)
	}
}
