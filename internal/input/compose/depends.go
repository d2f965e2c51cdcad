package compose

import (
	"maps"
	"slices"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// dependsOn converts the dependencies of a service. Tend waits for Ready: a service with a healthcheck (its own or its
// image's) is ready once the check passes, one without after it has run for a while. A job is ready once its newest run
// succeeded.
func (c *converter) dependsOn(u *unit) *api.DependsOn {
	r, at := c.report, u.at+".depends_on"
	r.carry(at, at+"[*]")
	var out []string
	for _, name := range slices.Sorted(maps.Keys(u.DependsOn)) {
		d, here := u.DependsOn[name], join(at, name)
		other, known := c.project.Services[name]
		once := c.once[name]
		r.carry(here, here+".condition")
		switch {
		case !known:
			r.lost(here, Changes, "it is not a service of the file")
			continue
		case other.Provider != nil:
			r.lost(here, Changes, "Tend calls no providers, so nothing is waited for")
			continue
		case c.proxies[name] != "":
			r.lost(here, Trifle, "Tend's own proxy is there before any container")
			continue
		case once.why != "" && !once.itself:
			r.differs(here, "%s is a job that runs on request: this waits until tend run %s/%s has succeeded", name, c.scope,
				c.names[join("services", name)])
		case once.why != "" && d.Condition != types.ServiceConditionCompletedSuccessfully:
			r.note(here, "waits until the job has ended, not only started")
		case once.why == "" && d.Condition == types.ServiceConditionStarted && other.HealthCheck != nil:
			r.note(here, "waits until it is ready, not only started")
		case d.Condition == types.ServiceConditionHealthy && other.HealthCheck == nil:
			r.note(here, "waits until it is ready, by the image's own HEALTHCHECK")
		}
		if d.Required {
			r.carry(here + ".required")
		} else {
			r.lostIfWritten(here+".required", Changes, "Tend always waits for it")
		}
		if d.Restart {
			r.lostIfWritten(here+".restart", Changes, "Tend restarts no workload because another one was")
		} else {
			r.carry(here + ".restart")
		}
		kind := api.KindDeployment
		if once.why != "" {
			kind = api.KindJob
		}
		u.from("depends_on.workloads", here)
		out = append(out, string(kind)+"/"+c.names[join("services", name)])
	}
	if len(out) == 0 {
		return nil
	}
	return &api.DependsOn{Workloads: out}
}
