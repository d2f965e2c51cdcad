package compose

import (
	"fmt"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// job turns a job of Compose into a job, or into a cron job if it has a schedule.
func (c *converter) job(j types.JobConfig) error {
	at := join("jobs", j.Name)
	u := &unit{at: at, name: c.names[at], ContainerSpec: &j.ContainerSpec, WorkloadSpec: &j.WorkloadSpec}
	spec := api.JobSpec{Container: c.container(u)}
	spec.DependsOn = c.dependsOn(u)
	spec.DockerOptions = u.flags()
	c.report.carry(at, at+".profiles", at+".profiles[*]", at+".triggers", at+".triggers.manual", at+".triggers.schedule")
	if j.Triggers != nil && j.Triggers.Manual != nil && !*j.Triggers.Manual {
		c.report.lost(at+".triggers.manual", Trifle, "a user who may run commands may run a job")
	}
	if j.Triggers == nil || len(j.Triggers.Schedule) == 0 {
		c.steps.runs = append(c.steps.runs, "tend run "+c.scope+"/"+u.name)
		return c.add(api.KindJob, u, spec)
	}
	for i := range j.Triggers.Schedule[1:] {
		c.report.lost(fmt.Sprintf("%s.triggers.schedule[%d]", at, i+1), Changes,
			"a cron job has one schedule; write another cron job")
	}
	u.place("schedule", at+".triggers.schedule[0].cron")
	return c.add(api.KindCronJob, u, c.schedule(at+".triggers.schedule[0]", spec, j.Triggers.Schedule[0]))
}

// schedule converts the schedule of a cron job. By default Compose forbids a second run beside the first, and uses the
// machine's time zone.
func (c *converter) schedule(at string, spec api.JobSpec, s types.ScheduleConfig) api.CronJobSpec {
	r := c.report
	r.carry(at, at+".cron", at+".timezone", at+".concurrency", at+".missed_fires")
	cron := api.CronJobSpec{JobSpec: spec, Schedule: s.Cron, Timezone: s.Timezone,
		ConcurrencyPolicy: api.ConcurrencyForbid}
	if s.Timezone == "" {
		r.differs(at, "its times are UTC, where Compose takes the machine's zone; write timezone for another")
	}
	if s.Concurrency == "queue" {
		r.lost(at+".concurrency", Changes, "runs are not queued; one that is due while another runs is left out")
	}
	switch s.MissedFires {
	case "skip":
		cron.StartingDeadline = "0s"
	case "one":
		cron.StartingDeadline = "24h"
	}
	return cron
}
