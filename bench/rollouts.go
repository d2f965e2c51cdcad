package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"tend.dev/tend/api"
)

// What clients do while a deployment is rolled out over and over.
const (
	rolledReplicas   = 5
	rolledTimes      = 20
	rolledRequests   = 100_000
	newPerSecond     = 500
	controlPerSecond = 100
	rolledBefore     = 20 * time.Second // how long latency is taken before the first rollout
	// the number of rollouts with the default strategy, which are slow: as many as this figure may take
	defaultTimes = 3
)

// ingressRollouts rolls a deployment out again and again under load. It counts the failed requests of all kinds, and
// compares the latency on new connections with that before the rollouts. Rollouts use the processors of all, so at the
// same time the same requests go to a deployment that doesn't change: to its pod directly, and to nginx in front of it.
func ingressRollouts(ctx context.Context, l *harness) (err error) {
	still := l.deployment(1)
	if _, err := still.deploy(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, still.remove(context.WithoutCancel(ctx))) }()
	pods, err := still.pods(ctx)
	if err != nil || len(pods) == 0 {
		return errors.Join(errors.New("there is no pod to serve"), err)
	}
	pod := net.JoinHostPort(pods[0].Address, "8080")
	if _, err := makeCertificate(l.dir); err != nil {
		return err
	}
	nginx, err := startPeer(ctx, "nginx", l.dir, pod)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, nginx.stop()) }()
	d := l.deployment(rolledReplicas)
	d.spec.Strategy = &api.Strategy{Order: api.OrderStartFirst, MaxParallel: 1, Pause: "0s", Monitor: "50ms"}
	d.spec.Probes = &api.Probes{Readiness: &api.Probe{HTTPGet: &api.HTTPGet{Path: "/healthz", Port: 8080},
		Period: "200ms"}}
	if _, err := d.deploy(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.remove(context.WithoutCancel(ctx))) }()
	done, err := l.serve(ctx, d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	controls := []*arrivals{{name: "pod", address: pod, perSecond: controlPerSecond},
		{name: "nginx", address: nginx.address, perSecond: controlPerSecond}}
	if err := l.rollUnderLoad(ctx, "ingress-rollout", d, controls, rolledTimes, rolledRequests); err != nil {
		return err
	}
	d.spec.Strategy = nil
	return l.rollUnderLoad(ctx, "ingress-rollout-default", d, controls, defaultTimes, 0)
}

// rollUnderLoad takes one figure: a number of rollouts, and further load until enough requests were made.
func (l *harness) rollUnderLoad(
	ctx context.Context, figure string, d *deployment, controls []*arrivals, times int, requests int64,
) error {
	fmt.Fprintf(os.Stderr, "%s begins: %.0f %% idle\n", figure, 100*awaitQuiet(ctx))
	c := newCrowd(l.ingress)
	ours := &arrivals{name: "tend", address: l.ingress, perSecond: newPerSecond, done: c.count}
	all := append([]*arrivals{ours}, controls...)
	clients, stop := context.WithCancel(ctx)
	defer stop()
	c.gather(clients)
	for _, a := range all {
		a.taken()
		c.all.Go(func() { a.run(clients) })
	}
	err := pause(ctx, rolledBefore)
	before := p99s(all)
	rollouts := 0
	for ; err == nil && (rollouts < times || c.served.Load() < requests); rollouts++ {
		_, err = d.roll(ctx)
		fmt.Fprintf(os.Stderr, "%s %d: %d requests, %d failed\n", figure, rollouts+1, c.served.Load(), c.failed.Load())
	}
	during := p99s(all)
	stop()
	c.all.Wait()
	if err != nil {
		return err
	}
	value(figure+"-failed", float64(c.failed.Load()),
		fmt.Sprintf("of %d requests in %d rollouts", c.served.Load(), rollouts))
	for _, a := range all {
		suffix := ""
		if a != ours {
			suffix = "-" + a.name
		}
		ratio(figure+"-p99"+suffix, float64(during[a.name])/float64(before[a.name]), "before")
		duration(figure+"-p99-before"+suffix, before[a.name])
		duration(figure+"-p99-during"+suffix, during[a.name])
	}
	for _, a := range controls {
		ratio(figure+"-p99-against-"+a.name, float64(during[ours.name])/float64(during[a.name]), a.name+" at the same time")
	}
	if first := c.first.Load(); first != nil {
		fmt.Fprintf(os.Stderr, "%s: the first that failed: %s\n", figure, *first)
	}
	return nil
}

// p99s returns the 99th percentiles of arrivals over the same time.
func p99s(all []*arrivals) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, a := range all {
		out[a.name] = percentile(a.taken(), 99)
	}
	return out
}
