package lab

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/lab"
	"tend.dev/tend/internal/records"
)

// Preview returns what the controller will do once a lab is stored. It writes nothing.
func (c *Controller) Preview(s records.Snapshot, object api.Object) ([]api.PlannedAction, error) {
	ref, now := object.Ref(), c.Now()
	o, err := c.observe(s, records.Read[api.Object]{Value: &object})
	if err != nil {
		return nil, err
	}
	var out []api.PlannedAction
	add := func(verb, task, reason, text string) {
		out = append(out, api.PlannedAction{Object: ref, Verb: verb, Task: task, Reason: reason, Text: text})
	}
	want := o.wantedImage()
	if o.begins() && !o.deleting() && want.Image != "" && (!o.request.Exists() || !o.request.Value.Equal(want)) {
		add("resolve", "", "", "resolve image "+want.Image)
	}
	if start := o.spec.StartsAt(); o.begins() && !o.deleting() && len(o.tasks) == 0 {
		text := "start at once, for " + o.desired("", "").Duration.String()
		if start.After(now) {
			text = "start at " + start.Format(time.RFC3339) + ", for " + o.desired("", "").Duration.String()
		}
		add("schedule", "", "", text)
	}
	if text := o.movedEnd(now); text != "" {
		add("schedule", "", "", text)
	}
	for _, action := range lab.Decide(o.desired("", ""), o.lab(), now).Actions {
		if action.Verb == lab.RemoveTask || action.Verb == lab.StopTask {
			add(string(action.Verb), action.Task, action.Reason, action.String())
		}
	}
	return out, nil
}

// movedEnd says where the end of a running lab moves to; empty if it stays.
func (o observed) movedEnd(now time.Time) string {
	was := o.before()
	if was.Phase != api.LabRunning || o.deleting() {
		return ""
	}
	switch ends := was.StartedAt.Add(o.desired("", "").Duration); {
	case ends.Equal(was.EndsAt):
		return ""
	case !ends.After(now):
		return "end at once: its new time was over at " + stampOf(ends)
	default:
		return "end at " + stampOf(ends) + " instead of " + stampOf(was.EndsAt)
	}
}
