package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"tend.dev/tend/client"
)

// statsOf measures sampling n running containers, against `docker stats --no-stream` of the same ones. Each turn of
// Tend's starts without cached samples, like the first one: those of the turn before have expired.
func statsOf(n int) func(context.Context, *harness) error {
	return func(ctx context.Context, l *harness) error {
		d := l.deployment(n)
		if _, err := d.deploy(ctx); err != nil {
			return err
		}
		pods, err := d.pods(ctx)
		if err != nil {
			return err
		}
		ids := make([]string, len(pods))
		for i, pod := range pods {
			ids[i] = pod.Container
		}
		first, err := l.tendStats(ctx, d, n)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("stats-%d", n)
		t, err := l.take(ctx, name, l.turnsFor(n), side{"docker", func(ctx context.Context) (time.Duration, error) {
			return dockerStats(ctx, ids)
		}}, side{"tend", func(ctx context.Context) (time.Duration, error) { return l.tendStats(ctx, d, n) }})
		if err != nil {
			return err
		}
		value(name, max(first, t.median("tend")).Seconds(), "s")
		value(name+"-first", first.Seconds(), "s")
		compare(name+"-again", t, "tend", "docker", "docker-stats")
		return d.remove(ctx)
	}
}

// tendStats measures one call of Tend for the samples of all pods.
func (l *harness) tendStats(ctx context.Context, d *deployment, n int) (time.Duration, error) {
	began := time.Now()
	stats, err := l.server.client.Stats(ctx, client.PodFilter{Name: d.name})
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if len(stats.Items) != n {
		return 0, fmt.Errorf("%d pods were sampled, want %d", len(stats.Items), n)
	}
	for _, s := range stats.Items {
		if s.Error != "" {
			return 0, fmt.Errorf("%s: %s", s.Pod, s.Error)
		}
	}
	return took, nil
}

func dockerStats(ctx context.Context, ids []string) (time.Duration, error) {
	command := exec.CommandContext(ctx, "docker",
		append([]string{"stats", "--no-stream", "--format", "{{.ID}} {{.CPUPerc}}"}, ids...)...)
	command.Stdout = io.Discard
	var problem strings.Builder
	command.Stderr = &problem
	began := time.Now()
	if err := command.Run(); err != nil {
		return 0, fmt.Errorf("docker stats: %w: %s", err, problem.String())
	}
	return time.Since(began), nil
}
