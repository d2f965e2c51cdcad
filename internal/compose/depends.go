package compose

import (
	"maps"
	"slices"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// dependsOn converts what a service waits for. Tend waits for Ready: a service with a healthcheck is ready once it
// passes, one without after it has run for a while.
func (c *converter) dependsOn(u *unit) *api.DependsOn {
	r, at := c.report, u.at+".depends_on"
	r.carry(at, at+"[*]")
	var out []string
	for _, name := range slices.Sorted(maps.Keys(u.DependsOn)) {
		d, here := u.DependsOn[name], join(at, name)
		other, known := c.project.Services[name]
		r.carry(here, here+".condition")
		switch {
		case !known:
			r.lost(here, "it is no service of the file")
			continue
		case d.Condition == types.ServiceConditionCompletedSuccessfully || c.runsOnce(other) != "":
			r.lost(here, "a job runs when it is asked to: make it an init block of this one, or its release command, or name it in depends_on.workloads")
			continue
		case d.Condition == types.ServiceConditionStarted && other.HealthCheck != nil:
			r.note(here, "waits until it is ready, not only started")
		}
		if d.Required {
			r.carry(here + ".required")
		} else {
			r.lostIfWritten(here+".required", "it is waited for whatever happens")
		}
		if d.Restart {
			r.lostIfWritten(here+".restart", "nothing is restarted because something else was")
		} else {
			r.carry(here + ".restart")
		}
		out = append(out, string(api.KindDeployment)+"/"+c.names[join("services", name)])
	}
	if len(out) == 0 {
		return nil
	}
	return &api.DependsOn{Workloads: out}
}
