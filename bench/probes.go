package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
	"tend.dev/tend/internal/node/agent/prober"
	"tend.dev/tend/internal/node/runtime"
)

const (
	// probesFor is the time for which attempts are counted: two periods. It begins after one period, in which the first
	// attempts (all at once) and the second ones (each at its probe's place) are made.
	probesFor  = 2 * probe.DefaultPeriod
	probesWarm = probe.DefaultPeriod + time.Second
	// probesSlot is the time within which attempts count as made at once.
	probesSlot = 10 * time.Millisecond
)

// probes measures the cost to this process of probing a thousand containers with the default settings: with an
// immediate answer (the scheduling alone), and over HTTP to a real container. It also counts concurrent attempts.
func probes(n int) func(context.Context, *harness) error {
	return func(ctx context.Context, l *harness) error {
		d := l.deployment(1)
		if _, err := d.deploy(ctx); err != nil {
			return err
		}
		pods, err := d.pods(ctx)
		if err != nil || len(pods) == 0 {
			return errors.Join(errors.New("there is no pod to ask"), err)
		}
		name := fmt.Sprintf("probes-%d", n)
		answering := func(context.Context, prober.Attempt) probe.Result { return probe.Result{Pass: true} }
		scheduling, err := askAll(ctx, n, answering)
		if err != nil {
			return err
		}
		asking, err := askAll(ctx, n, prober.Asking(oneContainer(pods[0].Address)))
		if err != nil {
			return err
		}
		value(name+"-cpu", 100*scheduling.cores, "% of a core")
		value(name+"-http-cpu", 100*asking.cores, "% of a core")
		value(name+"-rate", asking.rate, "attempts/s")
		ratio(name+"-burst", scheduling.burst, "even")
		_, err = d.delete(ctx)
		return err
	}
}

// asked is the result of probing for probesFor.
type asked struct {
	cores float64 // processor time by time
	rate  float64 // attempts a second
	burst float64 // the most attempts in a slot, by the mean
}

// askAll probes n containers for probesFor and counts the attempts.
func askAll(ctx context.Context, n int, ask prober.Asker) (asked, error) {
	var mu sync.Mutex
	var times []time.Time
	var failure string
	p := prober.New(prober.Options{Ask: func(ctx context.Context, a prober.Attempt) probe.Result {
		at := time.Now()
		result := ask(ctx, a)
		mu.Lock()
		defer mu.Unlock()
		times = append(times, at)
		if !result.Pass && !result.Void {
			failure = result.Message
		}
		return result
	}})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	follow(p, n)
	began, cores, err := measured(ctx)
	cancel()
	<-ended
	if failure != "" {
		err = errors.Join(err, fmt.Errorf("a probe failed: %s", failure))
	}
	out := asked{cores: cores}
	slots := map[time.Duration]int{}
	for _, at := range times {
		if since := at.Sub(began); since >= 0 && since < probesFor {
			slots[since/probesSlot]++
			out.rate += 1 / probesFor.Seconds()
		}
	}
	for _, count := range slots {
		out.burst = max(out.burst, float64(count)/(out.rate*probesSlot.Seconds()))
	}
	return out, err
}

// follow adds n containers that start at the same moment.
func follow(p *prober.Prober, n int) {
	started := time.Now()
	declared := api.Probes{Readiness: &api.Probe{HTTPGet: &api.HTTPGet{Path: "/healthz", Port: 8080}}}
	for i := range n {
		p.Follow(prober.Target{
			Task: fmt.Sprint("task-", i), Container: fmt.Sprint("container-", i), StartedAt: started, Probes: declared,
			Status: probe.Carry(&declared, nil, false, started),
		})
	}
}

// measured returns the start of the measurement, and the mean number of cores that this process used during it.
func measured(ctx context.Context) (began time.Time, cores float64, err error) {
	if err := pause(ctx, probesWarm); err != nil {
		return began, 0, err
	}
	began = time.Now()
	before := processorUsed()
	err = pause(ctx, probesFor)
	return began, (processorUsed() - before).Seconds() / time.Since(began).Seconds(), err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// processorUsed returns the processor time of this process so far.
func processorUsed() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// oneContainer is the address of one container that stands for all.
type oneContainer string

// Address implements prober.Containers.
func (c oneContainer) Address(_ context.Context, _ prober.Attempt, port int, _ bool) (string, error) {
	return net.JoinHostPort(string(c), strconv.Itoa(port)), nil
}

// Exec implements prober.Containers.
func (oneContainer) Exec(context.Context, prober.Attempt, []string) (runtime.Exec, error) {
	return nil, errors.ErrUnsupported
}

// Redact implements prober.Containers.
func (oneContainer) Redact(_ prober.Attempt, text string) string { return text }
