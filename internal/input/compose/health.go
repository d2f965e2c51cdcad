package compose

import (
	"fmt"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// Compose's defaults for a healthcheck.
const (
	healthInterval = 30 * time.Second
	healthTimeout  = 30 * time.Second
	healthRetries  = 3
)

// health converts a healthcheck into a readiness probe: others wait for it, and nothing is restarted, as with Compose.
// As a liveness probe it would kill a database that takes long to initialize.
func (c *converter) health(u *unit, out *api.DeploymentSpec) {
	h, at := u.HealthCheck, u.at+".healthcheck"
	if h == nil {
		return
	}
	r := c.report
	r.carry(at, at+".disable", at+".interval", at+".timeout", at+".retries")
	r.carry(at + ".start_period")
	r.carryAll(at + ".test")
	command := healthCommand(h.Test)
	if len(command) > 0 {
		r.noteIfWritten(at+".start_period", "a readiness probe needs none: one that fails restarts nothing")
	}
	switch {
	case h.Disable || len(h.Test) > 0 && h.Test[0] == "NONE":
		u.flag(c, at+".disable", "--no-healthcheck")
		return
	case len(command) == 0:
		c.imageHealth(u, at, *h)
		return
	}
	readiness := api.Probe{
		Exec: &api.ExecProbe{Command: command}, Period: duration(orTime(h.Interval, healthInterval)),
		Timeout: duration(orTime(h.Timeout, healthTimeout)), FailureThreshold: healthRetries,
	}
	if h.Retries != nil && *h.Retries > 0 {
		readiness.FailureThreshold = int(min(*h.Retries, 1000))
	}
	out.Probes = &api.Probes{Readiness: &readiness}
	r.note(at, "became a readiness probe: it restarts nothing, as with Compose")
}

// imageHealth converts changes to the image's own healthcheck.
func (c *converter) imageHealth(u *unit, at string, h types.HealthCheckConfig) {
	for _, d := range []struct {
		key, flag string
		value     *types.Duration
	}{{"interval", "health-interval", h.Interval}, {"timeout", "health-timeout", h.Timeout},
		{"start_period", "health-start-period", h.StartPeriod}} {
		if d.value != nil {
			u.flag(c, at+"."+d.key, "--"+d.flag+"="+time.Duration(*d.value).String())
		}
	}
	if h.Retries != nil {
		u.flag(c, at+".retries", fmt.Sprintf("--health-retries=%d", *h.Retries))
	}
}

func healthCommand(test types.HealthCheckTest) []string {
	if len(test) < 2 {
		return nil
	}
	switch test[0] {
	case "CMD":
		return test[1:]
	case "CMD-SHELL":
		return []string{"/bin/sh", "-c", test[1]}
	}
	return nil
}

func orTime(d *types.Duration, fallback time.Duration) time.Duration {
	if d == nil || *d <= 0 {
		return fallback
	}
	return time.Duration(*d)
}
