package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/moby/moby/api/types/swarm"
	engine "github.com/moby/moby/client"
)

// swarmFigures measures Swarm beside Tend in the same engine: twenty tasks created, scaled to, and updated all at once,
// with the updater's delays at zero, on a bridge network as Tend's.
func swarmFigures(ctx context.Context, l *harness) (err error) {
	if !l.settings.swarm {
		return nil
	}
	info, err := l.engine.Info(ctx, engine.InfoOptions{})
	if err != nil {
		return err
	}
	if info.Info.Swarm.LocalNodeState != swarm.LocalNodeStateInactive {
		fmt.Fprintln(os.Stderr, "swarm: the engine is in a swarm already; left alone")
		return nil
	}
	if err := l.enterSwarm(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.leaveSwarm()) }()
	turns := max(l.pairs/2, 1)
	for _, take := range []func(context.Context, int) error{l.swarmDeploy, l.swarmScale, l.swarmReplace} {
		if err := take(ctx, turns); err != nil {
			return err
		}
	}
	return nil
}

// enterSwarm also makes the network its tasks join: a bridge of the node, as Tend's own is, by way of a configuration
// that a network of Swarm's is made from.
func (l *harness) enterSwarm(ctx context.Context) error {
	_, err := l.engine.SwarmInit(ctx, engine.SwarmInitOptions{ListenAddr: "127.0.0.1:2377", AdvertiseAddr: "127.0.0.1"})
	if err != nil {
		return fmt.Errorf("swarm init: %w", err)
	}
	config := l.swarmNetwork() + "-config"
	if _, err = l.engine.NetworkCreate(ctx, config, engine.NetworkCreateOptions{ConfigOnly: true}); err == nil {
		_, err = l.engine.NetworkCreate(ctx, l.swarmNetwork(), engine.NetworkCreateOptions{
			Driver: "bridge", Scope: "swarm", ConfigFrom: config,
		})
	}
	if err != nil {
		return errors.Join(fmt.Errorf("make a network for Swarm: %w", err), l.leaveSwarm())
	}
	return nil
}

func (l *harness) swarmNetwork() string { return l.network + "-swarm" }

// leaveSwarm removes the remaining containers, and the networks that Swarm leaves on a node.
func (l *harness) leaveSwarm() error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanUpTime)
	defer cancel()
	if _, err := l.engine.SwarmLeave(ctx, engine.SwarmLeaveOptions{Force: true}); err != nil {
		return fmt.Errorf("swarm leave: %w", err)
	}
	return errors.Join(l.removeContainers(ctx, "com.docker.swarm.service.id"),
		l.removeNetwork(ctx, l.swarmNetwork()), l.removeNetwork(ctx, l.swarmNetwork()+"-config"),
		l.removeNetwork(ctx, "docker_gwbridge"))
}

func (l *harness) swarmDeploy(ctx context.Context, turns int) error {
	t, err := l.take(ctx, "swarm-deploy-20", turns, side{"swarm", func(ctx context.Context) (time.Duration, error) {
		s, took, err := l.newService(ctx, 20)
		if err != nil {
			return 0, err
		}
		return took, s.remove(ctx)
	}}, l.tendDeploy(20, times{}))
	if err != nil {
		return err
	}
	compare("swarm-deploy-20", t, "tend", "swarm", "swarm")
	return nil
}

func (l *harness) swarmScale(ctx context.Context, turns int) error {
	d, s, err := l.both(ctx, 5)
	if err != nil {
		return err
	}
	t, err := l.take(ctx, "swarm-scale-5-20", turns, side{"swarm", func(ctx context.Context) (time.Duration, error) {
		took, err := s.scale(ctx, 20)
		if err != nil {
			return 0, err
		}
		_, err = s.scale(ctx, 5)
		return took, err
	}}, d.scaling(5, 20))
	if err != nil {
		return err
	}
	compare("swarm-scale-5-20", t, "tend", "swarm", "swarm")
	return errors.Join(s.remove(ctx), d.remove(ctx))
}

func (l *harness) swarmReplace(ctx context.Context, turns int) error {
	d, s, err := l.both(ctx, 20)
	if err != nil {
		return err
	}
	turn := 0
	t, err := l.take(ctx, "swarm-replace-20", turns, side{"swarm", func(ctx context.Context) (time.Duration, error) {
		turn++
		return s.update(ctx, l.images[turn%2])
	}}, side{"tend", func(ctx context.Context) (time.Duration, error) {
		took, err := d.roll(ctx)
		if err != nil {
			return 0, err
		}
		return took, d.settle(ctx)
	}})
	if err != nil {
		return err
	}
	compare("swarm-replace-20", t, "tend", "swarm", "swarm")
	return errors.Join(s.remove(ctx), d.remove(ctx))
}

// both makes a deployment and a service that run.
func (l *harness) both(ctx context.Context, n int) (*deployment, *service, error) {
	d := l.deployment(n)
	if _, err := d.deploy(ctx); err != nil {
		return nil, nil, err
	}
	s, _, err := l.newService(ctx, uint64(n))
	return d, s, err
}
