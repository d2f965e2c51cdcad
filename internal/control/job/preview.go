package job

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/owner"
	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/records"
)

// Preview returns what the controller will do once an object is stored. It writes nothing. Declaring a job runs
// nothing, unless it runs each release by itself: its image is looked up. Deleting a job stops its runs.
func (c *Controller) Preview(s records.Snapshot, object api.Object) ([]api.PlannedAction, error) {
	ref, now := object.Ref(), c.Now()
	stored := s.Object(ref)
	o, err := c.observe(s, records.Read[api.Object]{Value: &object})
	if err != nil {
		return nil, err
	}
	var out []api.PlannedAction
	if want, due := o.wantedImage(); due {
		out = append(out, api.PlannedAction{Object: ref, Verb: "resolve", Text: "resolve image " + want.Image})
	}
	if o.declared.job.RunOnRelease && !o.deleting() {
		target, refused, err := c.choose(s, o, now)
		if err != nil {
			return nil, err
		}
		if refused == nil && (target.ID == "" || target.Fresh != nil) {
			out = append(out, api.PlannedAction{Object: ref, Verb: "run", Text: "run it once"})
		}
	}
	if cron := o.declared.cron; cron != nil && !cron.Suspend && !o.deleting() && o.timeline().ScheduleHash != o.declared.scheduleHash {
		if next, ok := o.declared.schedule.Next(now); ok {
			at := next.In(o.declared.schedule.Zone()).Format("2006-01-02 15:04 -07:00")
			out = append(out, api.PlannedAction{Object: ref, Verb: "schedule", Text: "run " + cron.Schedule + ", next at " + at})
		}
	}
	if !stored.Exists() || !o.deleting() {
		return out, nil
	}
	for _, action := range timetable.Decide(o.desired(owner.Target{}, "", nil), o.timetable(nil), now).Actions {
		if action.Verb == timetable.RemoveTask {
			out = append(out, api.PlannedAction{Object: ref, Verb: string(action.Verb), Task: action.Task, Reason: action.Reason, Text: action.String()})
		}
	}
	return out, nil
}
