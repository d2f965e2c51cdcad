package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// How wrk loads a proxy: as many connections as two processors keep busy, for as long as a turn takes.
const (
	wrkConnections = 32
	wrkFor         = 5 * time.Second
)

// load is what wrk tells of a run.
type load struct {
	each time.Duration // the run's time by its requests: what one costs
	p99  time.Duration
}

// runWrk loads an address from a process of its own. fresh makes a new connection for each request.
func runWrk(ctx context.Context, address string, fresh bool) (load, error) {
	args := []string{
		"--threads", "1", "--connections", strconv.Itoa(wrkConnections), "--duration", strconv.Itoa(int(wrkFor.Seconds())), "--latency",
		"--header", "Host: " + proxied,
	}
	if fresh {
		args = append(args, "--header", "Connection: close")
	}
	out, err := exec.CommandContext(ctx, "wrk", append(args, "http://"+address+"/")...).CombinedOutput()
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
	perSecond, err := strconv.ParseFloat(rate[1], 64)
	if err != nil || perSecond <= 0 {
		return load{}, fmt.Errorf("wrk reports %q requests a second", rate[1])
	}
	took, err := time.ParseDuration(p99[1])
	return load{each: time.Duration(float64(time.Second) / perSecond), p99: took}, err
}
