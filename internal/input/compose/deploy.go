package compose

import (
	"fmt"
	"strconv"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// restart converts restart and deploy.restart_policy. Compose restarts nothing by default; Tend always keeps running
// what was declared.
func (c *converter) restart(u *unit, s types.ServiceConfig, out *api.DeploymentSpec) {
	r, at := c.report, u.at+".restart"
	r.carry(at)
	out.Restart = s.Restart
	if s.Deploy == nil || s.Deploy.RestartPolicy == nil {
		switch s.Restart {
		case "":
			r.note(u.at, "has no restart policy; Tend keeps it running")
		case "no":
			r.differs(at, "Tend replaces a container that ends, whatever restart says; make it a job if it is to end")
		}
		return
	}
	policy, here := s.Deploy.RestartPolicy, u.at+".deploy.restart_policy"
	r.carry(here, here+".condition", here+".max_attempts")
	if s.Restart != "" {
		r.lostIfWritten(at, Trifle, "deploy.restart_policy says it too, and is taken")
	}
	switch policy.Condition {
	case "none":
		out.Restart = "no"
	case "on-failure":
		out.Restart = "on-failure"
		if policy.MaxAttempts != nil {
			out.Restart += ":" + strconv.FormatUint(*policy.MaxAttempts, 10)
		}
	default:
		out.Restart = "always"
		if policy.MaxAttempts != nil {
			r.lost(here+".max_attempts", Changes, "a container that ends is started again without a bound; on-failure has one")
		}
	}
}

// replicas converts scale, and the replicas and limits of deploy.
func (c *converter) replicas(u *unit, s types.ServiceConfig, out *api.DeploymentSpec) {
	r, at := c.report, u.at
	r.carry(at+".scale", at+".deploy", at+".deploy.replicas")
	out.Replicas = s.Scale
	if s.Deploy == nil {
		return
	}
	if s.Deploy.Replicas != nil {
		out.Replicas = s.Deploy.Replicas
	}
	switch s.Deploy.Mode {
	case "", api.ModeReplicated:
		r.carry(at + ".deploy.mode")
	case api.ModeGlobal:
		r.carry(at + ".deploy.mode")
		out.Mode, out.Replicas = api.ModeGlobal, nil
	default:
		r.lost(at+".deploy.mode", Changes, "%s is neither replicated nor global", s.Deploy.Mode)
	}
}

// deployLimits converts deploy.resources.limits, which override the older keys for the same.
func (c *converter) deployLimits(u *unit, d *types.DeployConfig) {
	at := u.at + ".deploy"
	c.report.carry(at)
	if d == nil || d.Resources.Limits == nil {
		return
	}
	limits := d.Resources.Limits
	here := at + ".resources.limits"
	c.report.carry(at+".resources", here, here+".cpus", here+".memory")
	c.report.carry(here + ".pids")
	if limits.Pids > 0 && u.PidsLimit == 0 {
		u.flag(c, here+".pids", fmt.Sprintf("--pids-limit=%d", limits.Pids))
	}
	if limits.NanoCPUs > 0 {
		u.place("resources.limits.cpu", here+".cpus")
		u.CPUS = float32(limits.NanoCPUs)
	}
	if limits.MemoryBytes > 0 {
		u.place("resources.limits.memory", here+".memory")
		u.MemLimit = limits.MemoryBytes
	}
}

// update converts deploy.update_config to the strategy of rollouts.
func (c *converter) update(u *unit, d *types.DeployConfig, out *api.DeploymentSpec) {
	if d == nil || d.UpdateConfig == nil {
		return
	}
	update, at := d.UpdateConfig, u.at+".deploy.update_config"
	c.report.carry(at, at+".parallelism", at+".delay", at+".failure_action", at+".monitor", at+".order")
	u.place("strategy.order", at+".order")
	u.place("strategy.on_failure", at+".failure_action")
	u.place("strategy.monitor", at+".monitor")
	u.place("strategy.pause", at+".delay")
	u.place("strategy.max_parallel", at+".parallelism")
	s := &api.Strategy{Order: update.Order, OnFailure: update.FailureAction}
	if update.Parallelism != nil {
		s.MaxParallel = int(min(*update.Parallelism, 1000))
		if s.MaxParallel == 0 {
			s.MaxParallel = out.ReplicaCount() // all at once
		}
	}
	if update.Delay > 0 {
		s.Pause = duration(time.Duration(update.Delay))
	}
	if update.Monitor > 0 {
		s.Monitor = duration(time.Duration(update.Monitor))
	}
	if *s != (api.Strategy{}) {
		out.Strategy = s
	}
}
