package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/containerd/errdefs"
	engine "github.com/moby/moby/client"

	"tend.dev/tend/internal/test/testimage"
)

// cleanUpTime bounds the cleanup after the run, or after its interruption.
const cleanUpTime = 2 * time.Minute

// harness holds the shared parts of the figures: the engine, a private Tend, two versions of an image, and the network
// that both sides use.
type harness struct {
	settings
	id      string // distinguishes this run's objects from all others
	dir     string
	network string
	// ingress and secureIngress are where Tend's proxy listens for plain HTTP and for TLS, once there is an ingress.
	ingress, secureIngress string
	images                 [2]string
	engine                 *engine.Client
	server                 *server
	follow                 *follower
	raw                    *raw
	// workers is the raw API's best parallelism, as deploy-20 finds it.
	workers int
	turns   int // counts the deployments, for their names
}

// open starts everything. What it opened before it failed is closed again.
func open(ctx context.Context, s settings) (*harness, error) {
	l := &harness{settings: s, id: strconv.Itoa(os.Getpid()), workers: 8}
	l.network = "tend-bench-" + l.id
	for i := range l.images {
		l.images[i] = fmt.Sprintf("tend-bench/server:%s-v%d", l.id, i+1)
	}
	for _, step := range []func(context.Context) error{l.openEngine, l.loadImages, l.startTend, l.copyOptions} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	return l, nil
}

func (l *harness) openEngine(ctx context.Context) (err error) {
	if l.dir, err = os.MkdirTemp("", "tend-bench-"); err != nil {
		return err
	}
	if l.engine, err = engine.New(engine.FromEnv); err != nil {
		return err
	}
	_, err = l.engine.Ping(ctx, engine.PingOptions{NegotiateAPIVersion: true})
	return err
}

func (l *harness) loadImages(ctx context.Context) error {
	for i, tag := range l.images {
		if err := testimage.Ensure(ctx, "bench-v"+strconv.Itoa(i+1), tag); err != nil {
			return err
		}
	}
	return nil
}

func (l *harness) startTend(ctx context.Context) (err error) {
	if l.ingress, err = freeAddress(); err != nil {
		return err
	}
	if l.secureIngress, err = freeAddress(); err != nil {
		return err
	}
	l.server, err = startServer(ctx, l.tend, filepath.Join(l.dir, "state"), "--network", l.network, "--starts",
		strconv.Itoa(l.starts),
		"--ingress-http", l.ingress, "--ingress-https", l.secureIngress)
	if err != nil {
		return err
	}
	l.follow = followDeployments(l.server.client)
	return nil
}

// copyOptions lets Tend make one container, which also makes the network, and copies its options for the raw side.
func (l *harness) copyOptions(ctx context.Context) error {
	l.raw = &raw{engine: l.engine, id: l.id, network: l.network}
	d := l.deployment(1)
	if _, err := d.deploy(ctx); err != nil {
		return err
	}
	pods, err := d.pods(ctx)
	if err != nil {
		return err
	}
	if err := l.raw.learn(ctx, pods[0].Container); err != nil {
		return err
	}
	return d.remove(ctx)
}

// close leaves the engine as it was found: every container of the run carries its label, on either side.
func (l *harness) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpTime)
	defer cancel()
	var faults []error
	if l.follow != nil {
		l.follow.close()
	}
	if l.server != nil {
		faults = append(faults, l.server.stop())
	}
	if l.engine != nil {
		faults = append(faults, l.sweep(ctx), testimage.Remove(ctx, l.images[:]...), l.engine.Close())
	}
	return errors.Join(append(faults, os.RemoveAll(l.dir))...)
}

func (l *harness) sweep(ctx context.Context) error {
	return errors.Join(l.removeContainers(ctx, runLabel), l.removeNetwork(ctx, l.network))
}

// removeContainers removes the containers of this run that have a further label.
func (l *harness) removeContainers(ctx context.Context, label string) error {
	listed, err := l.engine.ContainerList(ctx, engine.ContainerListOptions{
		All: true, Filters: make(engine.Filters).Add("label", runLabel+"="+l.id, label),
	})
	if err != nil {
		return err
	}
	var faults []error
	for _, c := range listed.Items {
		_, err := l.engine.ContainerRemove(ctx, c.ID, engine.ContainerRemoveOptions{Force: true})
		if !errdefs.IsConflict(err) { // another removal is in progress
			faults = append(faults, ignoreNotFound(err))
		}
	}
	return errors.Join(faults...)
}

// removeNetwork retries for a while: the engine releases the endpoints of a removed container a moment after it.
func (l *harness) removeNetwork(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var last error
	err := every(ctx, 200*time.Millisecond, func() (bool, error) {
		_, last = l.engine.NetworkRemove(ctx, name, engine.NetworkRemoveOptions{})
		last = ignoreNotFound(last)
		return last == nil, nil
	})
	return errors.Join(err, last)
}
