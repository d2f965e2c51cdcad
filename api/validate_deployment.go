package api

import "time"

// deployment checks every field of a deployment, in the order of the struct.
func (c *checker) deployment(s DeploymentSpec) {
	c.image(s)
	if s.Replicas != nil {
		c.between("replicas", *s.Replicas, 0, MaxReplicas)
	}
	c.mode(s)
	c.placement(s.Placement)
	c.process(s)
	c.config(s.Container)
	c.network(s)
	c.storage(s)
	c.host(s)
	c.limits(s)
	c.probes(s)
	c.blocks(s)
	if s.HealthCheck != "" && s.HealthCheck[0] != '/' {
		c.add("health_check", "%q does not begin with /", s.HealthCheck)
	}
	if s.KeepReleases != nil {
		c.between("keep_releases", *s.KeepReleases, 1, 100)
	}
	if s.Strategy != nil {
		c.strategy(*s.Strategy)
	}
}

const maxWait = 24 * time.Hour

func (c *checker) strategy(s Strategy) {
	c.oneOf("strategy.order", s.Order, OrderStopFirst, OrderStartFirst)
	c.between("strategy.max_parallel", s.MaxParallel, 0, 1000)
	c.duration("strategy.pause", s.Pause, 0, maxWait)
	c.duration("strategy.monitor", s.Monitor, 0, maxWait)
	c.duration("strategy.deadline", s.Deadline, time.Second, maxWait)
	c.duration("strategy.drain", s.Drain, 0, time.Hour)
	c.oneOf("strategy.on_failure", s.OnFailure, OnFailurePause, OnFailureRollback, OnFailureContinue)
	resolved := DeploymentSpec{Strategy: &s}.ResolvedStrategy()
	if (s.Monitor != "" || s.Deadline != "") && resolved.Monitor > resolved.Deadline {
		c.add("strategy.deadline", "is shorter than monitor (%s), so no pod could become healthy in time", resolved.Monitor)
	}
}

// duration checks a length of time that may be left out.
func (c *checker) duration(field string, d Duration, low, high time.Duration) {
	if d == "" {
		return
	}
	parsed, err := time.ParseDuration(string(d))
	switch {
	case err != nil:
		c.add(field, "%q is not a duration such as 500ms, 2s or 1m30s", string(d))
	case parsed < low || parsed > high:
		c.add(field, "%s is outside %s to %s", d, ShortDuration(low), ShortDuration(high))
	}
}
