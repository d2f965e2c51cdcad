package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The load on a proxy: as many connections as keep two processors busy, for the time of a turn. Over HTTP/2 each
// connection has several concurrent requests.
const (
	loadConnections = 32
	loadStreams     = 10
	loadFor         = 5 * time.Second
)

// load is the result of a turn.
type load struct {
	each time.Duration // the turn's time divided by its requests
	p99  time.Duration
}

// runWrk loads an address by HTTP/1.1 from a process of its own. fresh makes a new connection for each request.
func runWrk(ctx context.Context, address string, fresh bool) (load, error) {
	return wrk(ctx, "http://"+address+"/", proxied, fresh)
}

// runWrkTLS loads an address by HTTP/1.1 over TLS.
func runWrkTLS(ctx context.Context, address string) (load, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return load{}, err
	}
	return wrk(ctx, "https://"+secured+":"+port+"/", secured, false)
}

func wrk(ctx context.Context, url, host string, fresh bool) (load, error) {
	args := []string{
		"--threads", "1", "--connections", strconv.Itoa(loadConnections), "--duration",
		strconv.Itoa(int(loadFor.Seconds())), "--latency",
		"--header", "Host: " + host,
	}
	if fresh {
		args = append(args, "--header", "Connection: close")
	}
	out, err := exec.CommandContext(ctx, "wrk", append(args, url)...).CombinedOutput()
	if err != nil {
		return load{}, fmt.Errorf("wrk: %w: `make bench-tools` installs it\n%s", err, out)
	}
	return parseWrk(string(out))
}

var (
	wrkRate   = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
	wrkP99    = regexp.MustCompile(`99%\s+([0-9.]+(?:us|ms|s|m))\n`)
	wrkFaults = regexp.MustCompile(`(Non-2xx or 3xx responses:.*|Socket errors: connect [1-9].*|Socket errors:.* timeout [1-9].*)`)
)

// parseWrk reads wrk's report. Answers that are errors are a fault: a proxy that refuses is fast.
func parseWrk(text string) (load, error) {
	rate, p99 := wrkRate.FindStringSubmatch(text), wrkP99.FindStringSubmatch(text)
	if rate == nil || p99 == nil {
		return load{}, fmt.Errorf("wrk reports no figures:\n%s", text)
	}
	if fault := wrkFaults.FindString(text); fault != "" {
		return load{}, fmt.Errorf("wrk: %s", strings.TrimSpace(fault))
	}
	each, err := costOf(rate[1])
	if err != nil {
		return load{}, err
	}
	took, err := time.ParseDuration(p99[1])
	return load{each: each, p99: took}, err
}

func costOf(perSecond string) (time.Duration, error) {
	rate, err := strconv.ParseFloat(perSecond, 64)
	if err != nil || rate <= 0 {
		return 0, fmt.Errorf("%q requests a second were reported", perSecond)
	}
	return time.Duration(float64(time.Second) / rate), nil
}

// runH2load loads an address by HTTP/2 over TLS from a process of its own, and writes its log into a folder.
func runH2load(ctx context.Context, address, dir string) (load, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return load{}, err
	}
	log := filepath.Join(dir, "h2load.log")
	if err := os.RemoveAll(log); err != nil {
		return load{}, err
	}
	out, err := exec.CommandContext(ctx, "h2load", "--clients="+strconv.Itoa(loadConnections), "--max-concurrent-streams="+
		strconv.Itoa(loadStreams),
		"--duration="+strconv.Itoa(int(loadFor.Seconds())), "--connect-to="+address, "--log-file="+log, "https://"+secured+
			":"+port+"/").CombinedOutput()
	if err != nil {
		return load{}, fmt.Errorf("h2load: %w: `make bench-tools` installs it\n%s", err, out)
	}
	requests, err := os.ReadFile(log)
	if err != nil {
		return load{}, err
	}
	return parseH2load(string(out), string(requests))
}

var (
	h2loadRate   = regexp.MustCompile(`finished in [^,]+, ([0-9.]+) req/s`)
	h2loadFaults = regexp.MustCompile(`[1-9][0-9]* (failed|errored|timeout|3xx|4xx|5xx)`)
)

// parseH2load reads h2load's report and its log: a line for each request, with its start, status and microseconds.
func parseH2load(report, log string) (load, error) {
	rate := h2loadRate.FindStringSubmatch(report)
	if rate == nil {
		return load{}, fmt.Errorf("h2load reports no figures:\n%s", report)
	}
	if fault := h2loadFaults.FindString(report); fault != "" {
		return load{}, fmt.Errorf("h2load: %s", fault)
	}
	each, err := costOf(rate[1])
	if err != nil {
		return load{}, err
	}
	var took []time.Duration
	for line := range strings.Lines(log) {
		if fields := strings.Fields(line); len(fields) == 3 {
			micros, err := strconv.ParseInt(fields[2], 10, 64)
			if err != nil {
				return load{}, fmt.Errorf("h2load's log: %w", err)
			}
			took = append(took, time.Duration(micros)*time.Microsecond)
		}
	}
	if len(took) == 0 {
		return load{}, fmt.Errorf("h2load logged no requests:\n%s", report)
	}
	slices.Sort(took)
	return load{each: each, p99: took[len(took)*99/100]}, nil
}
