package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	engine "github.com/moby/moby/client"
)

// stopGrace is the grace Tend's deployments have, in seconds.
const stopGrace = 10

// raw is the peer: the engine's API called as directly as it can be.
type raw struct {
	engine  *engine.Client
	id      string
	network string
	config  container.Config
	host    container.HostConfig
	aliases []string
	serial  atomic.Int64
}

// learn copies the options of a container that Tend made. Labels keep their number and lengths, but are no longer
// Tend's.
func (r *raw) learn(ctx context.Context, id string) error {
	inspected, err := r.engine.ContainerInspect(ctx, id, engine.ContainerInspectOptions{})
	if err != nil {
		return err
	}
	c := inspected.Container
	r.config, r.host = *c.Config, *c.HostConfig
	labels := map[string]string{}
	for name, value := range r.config.Labels {
		if rest, ours := strings.CutPrefix(name, "tend."); ours {
			name = "peer." + rest
		}
		labels[name] = value
	}
	r.config.Labels = labels
	endpoint := c.NetworkSettings.Networks[r.network]
	if endpoint == nil {
		return fmt.Errorf("container %s is not on network %s", id, r.network)
	}
	for _, alias := range endpoint.Aliases {
		if !strings.HasPrefix(c.ID, alias) {
			r.aliases = append(r.aliases, alias)
		}
	}
	return nil
}

// run creates and starts one container.
func (r *raw) run(ctx context.Context, image string, edit func(*container.HostConfig)) (string, error) {
	config, host := r.config, r.host
	config.Image = image
	config.Labels = maps.Clone(config.Labels)
	name := fmt.Sprintf("tend-bench-%s.%08x", r.id, r.serial.Add(1))
	config.Hostname = name
	if edit != nil {
		edit(&host)
	}
	created, err := r.engine.ContainerCreate(ctx, engine.ContainerCreateOptions{
		Name: name, Config: &config, HostConfig: &host,
		NetworkingConfig: &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			r.network: {Aliases: r.aliases},
		}},
	})
	if err != nil {
		return "", err
	}
	_, err = r.engine.ContainerStart(ctx, created.ID, engine.ContainerStartOptions{})
	return created.ID, err
}

// runMany creates and starts n containers by a number of workers, timed.
func (r *raw) runMany(ctx context.Context, n, workers int, image string) ([]string, time.Duration, error) {
	ids := make([]string, n)
	took, err := inParallel(n, workers, func(i int) (err error) {
		ids[i], err = r.run(ctx, image, nil)
		return err
	})
	return ids, took, err
}

func (r *raw) drop(ctx context.Context, id string) error {
	grace := stopGrace
	if _, err := r.engine.ContainerStop(ctx, id, engine.ContainerStopOptions{Timeout: &grace}); err != nil {
		return err
	}
	_, err := r.engine.ContainerRemove(ctx, id, engine.ContainerRemoveOptions{})
	return err
}

// dropMany stops and removes containers by a number of workers, timed.
func (r *raw) dropMany(ctx context.Context, ids []string, workers int) (time.Duration, error) {
	return inParallel(len(ids), workers, func(i int) error {
		if ids[i] == "" {
			return nil
		}
		return r.drop(ctx, ids[i])
	})
}

// replaceMany stops and removes each container, then creates and starts another in its place, timed.
func (r *raw) replaceMany(ctx context.Context, ids []string, workers int, image string) (time.Duration, error) {
	return inParallel(len(ids), workers, func(i int) (err error) {
		if err := r.drop(ctx, ids[i]); err != nil {
			return err
		}
		ids[i], err = r.run(ctx, image, nil)
		return err
	})
}

// inParallel calls do for 0 to n-1 by a number of workers.
func inParallel(n, workers int, do func(i int) error) (time.Duration, error) {
	began := time.Now()
	faults := make([]error, n)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(workers, n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				faults[i] = do(i)
			}
		})
	}
	wait.Wait()
	return time.Since(began), errors.Join(faults...)
}

func ignoreNotFound(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}
