package job

import (
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/core/timetable"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/records"
)

// observed is the state that an object depends on, read at one revision.
type observed struct {
	ref      api.Ref
	object   records.Read[api.Object]
	declared declared
	status   records.Read[api.JobStatus]
	runs     []records.Read[api.Run]
	tasks    []owner.Task
	releases []records.Read[api.Release]
	request  records.Read[api.ImageRequest]
	images   []records.Read[api.ImageStatus]
	early    owner.Early
	// candidates are the nodes that may have the image.
	candidates []string
	// resolver is the node that was asked for the image and gave no sign yet.
	resolver string
	nodes    []records.Read[api.NodeStatus]
	set      owner.NodeSet // the same nodes
	// silent is the time until the first silent node that has a task is lost; 0 if there is none.
	silent time.Duration
}

// observe reads an object and everything related to it. An object that is being deleted is handled even if its manifest
// is unreadable.
func (c *jobs) observe(at control.Observation) (observed, error) {
	s, object := at.Snapshot, at.Object
	ref := object.Value.Ref()
	nodes := c.Liveness.Nodes.Answers(s)
	o := observed{
		ref: ref, object: object, status: s.JobStatus(ref), runs: s.Runs(ref), releases: s.Releases(ref),
		request: s.ImageRequest(ref), candidates: owner.Candidates(s, ref, nodes), nodes: nodes.All, set: nodes,
	}
	o.images, o.early = owner.ImageAnswers(s, object, at.Now)
	o.resolver = owner.Asked(s, o.request, o.images)
	o.tasks, o.silent = c.Liveness.Tasks(s, ref)
	var err error
	if o.declared, err = c.declared.of(object); err != nil && !o.deleting() {
		return o, owner.InvalidSpec(ref, fmt.Errorf("read its manifest: %w", err))
	}
	return o, nil
}

func (o observed) deleting() bool { return o.object.Value.Metadata.Deleting() }

// uid distinguishes the object from an earlier one of the same name.
func (o observed) uid() string { return o.object.Value.Metadata.UID }

// timetable returns the observed state in the planner's types. refusals say why tasks without a node fit on none.
func (o observed) timetable(refusals map[string]placement.Refusal) timetable.Observed {
	out := timetable.Observed{Timeline: o.timeline()}
	for _, run := range o.runs {
		out.Runs = append(out.Runs, *run.Value)
	}
	for _, t := range o.tasks {
		task := t.Desired.Value
		out.Tasks = append(out.Tasks, timetable.Task{
			Attempt: t.Attempt(), ID: task.ID, Pod: task.ContainerName(), Run: task.Run, Number: max(task.Attempt, 1),
			CreatedAt: task.CreatedAt,
			Unplaced:  refusals[task.ID].Message,
		})
	}
	return out
}

func (o observed) timeline() timetable.Timeline {
	s := o.status.Value
	if s == nil {
		return timetable.Timeline{}
	}
	return timetable.Timeline{
		ScheduleHash: s.ScheduleHash, Last: s.LastScheduled, Ahead: s.LastAhead, Skipped: s.Skipped,
		Over: s.RestoredAt, Unknown: s.RestoredOver, Earlier: s.RestoredEarlier,
		Missed: s.Missed, LastMissed: s.LastMissed, Why: s.MissedReason,
	}
}

// desired returns the desired state in the planner's types.
func (o observed) desired(t owner.Target, held string, refused *timetable.Refusal) timetable.Desired {
	job := o.declared.job
	d := timetable.Desired{
		Deleting: o.deleting(), Concurrency: api.ConcurrencyAllow, Since: o.object.Value.Metadata.UpdatedAt,
		Over:    o.object.Value.RestoredAt(),
		Timeout: job.Timeout.Or(0), Retries: job.Retries,
		KeepSucceeded: job.SuccessfulHistory(), KeepFailed: job.FailedHistory(),
		Release: t.ID, Held: held, Refused: refused,
		KeepFailure: job.RunOnRelease,
		Unrun:       job.RunOnRelease && t.Fresh != nil, // a release is stored when its first run begins
	}
	if cron := o.declared.cron; cron != nil {
		d.Schedule, d.ScheduleHash, d.Suspend = o.declared.schedule, o.declared.scheduleHash, cron.Suspend
		d.StartingDeadline = cron.StartingDeadline.Or(api.DefaultStartingDeadline)
		if cron.ConcurrencyPolicy != "" {
			d.Concurrency = cron.ConcurrencyPolicy
		}
	}
	return d
}

// wanted returns the image that a run uses, and how it is built if it is built.
func (o observed) wanted() (string, *api.ImageBuild) {
	return o.object.Value.WantedImage(o.declared.job.Container)
}

// image returns the nodes' answer to the current image request, or one that came before it.
func (o observed) image() api.ImageStatus {
	asked := o.asks()
	if there := o.request.Value; there != nil && there.OwnerUID == asked.OwnerUID && there.Image == asked.Image {
		asked.Nonce, asked.Build = there.Nonce, there.Build
	}
	return owner.Image(o.images, asked, o.candidates)
}

// asks returns the image request of the manifest.
func (o observed) asks() api.ImageRequest {
	pods := api.WorkloadSpec{DeploymentSpec: api.DeploymentSpec{Container: o.declared.job.Container}}
	return imageask.Request(*o.object.Value, pods)
}

// wantedImage returns the image request; due reports whether it has yet to be written. A run that was created after the
// image failed requests it again: the image may exist now.
func (o observed) wantedImage() (want api.ImageRequest, due bool) {
	if o.deleting() {
		return want, false
	}
	if want = o.asks(); want.Image == "" {
		return want, false
	}
	stamp := want.Nonce
	if there := o.request.Value; there != nil && there.OwnerUID == want.OwnerUID && there.Image == want.Image &&
		againstOf(there.Nonce) == stamp {
		want.Nonce = there.Nonce
	}
	if image := o.image(); image.State == api.ImageFailed {
		for _, run := range o.runs {
			if run.Value.State == api.RunPending && run.Value.CreatedAt.After(image.UpdatedAt) {
				want.Nonce = stamp + nonceMark + run.Value.ID
			}
		}
	}
	return want, !o.request.Exists() || !o.request.Value.Equal(want)
}

// nonceMark separates the object's own part of a request's nonce from the run that requested the image again.
const nonceMark = "!"

// againstOf returns the object's own part of a request's nonce.
func againstOf(nonce string) string {
	own, _, _ := strings.Cut(nonce, nonceMark)
	return own
}
