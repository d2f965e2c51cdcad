package timetable

import "tend.dev/tend/api"

// ReleaseRunID returns the id of the run that a job with run_on_release has for a release.
func ReleaseRunID(release string) string { return release + "-run" }

// runRelease starts the run of a release that has had none, if the job runs each by itself. The run is created when it
// can begin: while another one is active, or something that the job depends on isn't ready, there is none. So it
// executes the release that is the newest then, and two migrations never run at once.
func (p *planner) runRelease() {
	if !p.Unrun || p.Release == "" || p.anyActive() {
		return
	}
	if p.Held != "" {
		p.wait(p.Held)
		return
	}
	id := ReleaseRunID(p.Release)
	for i := range p.runs {
		if p.runs[i].ID == id {
			return // it was stopped before it began
		}
	}
	record := api.Run{ID: id, Trigger: api.TriggerDeclared, CreatedAt: p.now, State: api.RunPending}
	p.do(Action{Verb: CreateRun, Run: id, Due: &record})
	p.runs = append(p.runs, run{Run: record})
}
