package workload

import (
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/dependency"
	"tend.dev/tend/internal/core/fit"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/records"
)

// observed is the state that a deployment depends on, read at one revision.
type observed struct {
	ref    api.Ref
	now    time.Time // when it was read
	since  time.Time // when this controller began to work
	object records.Read[api.Object]
	spec   api.WorkloadSpec
	status records.Read[api.WorkloadStatus]
	// tasks fill slots; runTasks run a release's commands, which runs record.
	tasks, runTasks []owner.Task
	// leftovers are the tasks that nothing waits for but their nodes.
	leftovers []records.Read[api.Task]
	clearing  bool // a node that answers has yet to clear one
	// silent is the time until the first silent node that has a task is lost; 0 if there is none.
	silent time.Duration
	// misplaced maps the id of a task to the reason why it must leave its node.
	misplaced map[string]string
	// homeless maps the id of a lost or misplaced task to the reason why its replacement fits on no node.
	homeless map[string]placement.Refusal
	runs     []records.Read[api.Run]
	releases []records.Read[api.Release]
	request  records.Read[api.ImageRequest]
	images   []records.Read[api.ImageStatus]
	early    owner.Early
	// candidates are the nodes that may have the image.
	candidates []string
	// resolver is the node that was asked for the image and gave no sign yet.
	resolver string
	frozen   []records.Read[api.Frozen]
	nodes    []records.Read[api.NodeStatus]
	set      owner.NodeSet // the same nodes
	// refusals say why a task without a node can't be placed, by task id.
	refusals map[string]placement.Refusal
	env      map[string]string
	// dependency returns the state of another workload; recorded reports whether a webhook call is recorded.
	dependency func(api.Ref) dependency.State
	recorded   func(call string) bool
	// leaving lists the objects that are being deleted and write to what a use of a scope writes to.
	leaving func(scope string, use volumes.Use) []writer
	// slot returns the task that fills a slot.
	slot func(id string) records.Read[string]
}

// observe reads everything related to an object that is, or is about to be, stored. With an *owner.UnworkableError it
// returns what could be read. An object that is being deleted needs neither spec nor environment: it is deleted even if
// they are unreadable.
func (c *workloads) observe(at control.Observation) (observed, error) {
	s, ref := at.Snapshot, at.Ref
	nodes := c.liveness.Nodes.At(s)
	o := observed{
		ref: ref, now: at.Now, object: at.Object, since: c.since(),
		status: s.WorkloadStatus(ref), releases: s.Releases(ref), request: s.ImageRequest(ref),
		candidates: owner.Candidates(s, ref, nodes), frozen: s.Frozen(ref), nodes: nodes.All, set: nodes,
		runs:       s.Runs(ref),
		dependency: control.Dependencies(s),
		leaving: leavingWriters(s, func(node string) bool {
			return onSharedStorage(*at.Object.Value) || c.board.MayRunOn(s, *at.Object.Value, node)
		}),
		recorded:  func(call string) bool { return s.Delivery(ref, call).Exists() },
		misplaced: map[string]string{},
		slot:      func(id string) records.Read[string] { return s.Slot(ref, id) },
	}
	o.images, o.early = owner.ImageAnswers(s, at.Object, at.Now)
	o.resolver = owner.Asked(s, o.request, o.images)
	o.leftovers = s.LeftoversOf(ref)
	o.clearing = o.deleting() && owner.Clearing(s, ref)
	c.readTasks(s, &o)
	c.readLeaving(s, &o)
	var err error
	if o.spec, err = api.DecodeWorkload(ref.Kind, at.Object.Value.Spec); err != nil && !o.deleting() {
		return o, owner.InvalidSpec(ref, err)
	}
	if o.deleting() {
		return o, nil
	}
	c.readPlaces(s, &o)
	if o.spec.Container, o.env, err = c.env.Resolve(s, ref, o.spec.Container); err != nil && !c.bringsEnvironment(o) {
		return o, owner.WithoutEnvironment(ref, err)
	}
	return o, nil
}

// bringsEnvironment reports whether a rollback returned to a release's environment while that of the buckets could not
// be built: until they change it needs nothing from them.
func (c *workloads) bringsEnvironment(o observed) bool {
	unbuilt, err := c.env.Unbuilt()
	return err == nil && o.stamp(api.StampRollbackConfig) == unbuilt && o.release(o.stamp(api.StampRollback)) != nil
}

// readPlaces counts the pods of a global deployment: one for each node that has one or may get one. Nodes that are lost
// keep theirs if too many are.
func (c *workloads) readPlaces(s records.Snapshot, o *observed) {
	if !o.spec.Global() {
		return
	}
	hosts := map[string]bool{}
	for _, t := range o.tasks {
		if t.Desired.Value.Desired == api.DesiredRunning && !t.Ended() && (!t.Absence.Lost || t.Absence.Together > 0) {
			hosts[t.Desired.Value.Node] = true
		}
	}
	places := c.board.Places(s, *o.object.Value, o.need(o.imageRuntime()), hosts)
	o.spec.Replicas = &places
}

// readTasks reads the tasks, and why those that wait for a node have none.
func (c *workloads) readTasks(s records.Snapshot, o *observed) {
	var tasks []owner.Task
	tasks, o.silent = c.liveness.Tasks(s, o.ref)
	o.tasks = make([]owner.Task, 0, len(tasks))
	for _, t := range tasks {
		if t.Desired.Value.Run != "" {
			o.runTasks = append(o.runTasks, t)
		} else {
			o.tasks = append(o.tasks, t)
		}
	}
	o.refusals = owner.Refusals(s, tasks, c.board)
}

func (o observed) deleting() bool { return o.object.Value.Metadata.Deleting() }

// vanished reports whether the object is being deleted and no task of it is left.
func (o observed) vanished() bool {
	return o.deleting() && len(o.tasks)+len(o.runTasks) == 0 && !o.clearing
}

func (o observed) release(id string) *api.Release {
	for _, r := range o.releases {
		if r.Value.ID == id {
			return r.Value
		}
	}
	return nil
}

func (o observed) newestRelease() *api.Release {
	if len(o.releases) == 0 {
		return nil
	}
	return o.releases[len(o.releases)-1].Value
}

// rollout returns the state of the newest rollout, or its zero value.
func (o observed) rollout() api.RolloutStatus {
	if o.status.Value == nil || o.status.Value.Rollout == nil {
		return api.RolloutStatus{}
	}
	return *o.status.Value.Rollout
}

// uid distinguishes the object from an earlier one of the same name.
func (o observed) uid() string { return o.object.Value.Metadata.UID }

func (o observed) stamp(name string) string { return o.object.Value.Metadata.Stamps[name] }

// wanted returns the image of the slots, and how it is built if it is built.
func (o observed) wanted() (string, *api.ImageBuild) {
	return o.object.Value.WantedImage(o.spec.Container)
}

// asks returns the request for the image that the spec asks for.
func (o observed) asks() api.ImageRequest { return imageask.Request(*o.object.Value, o.spec) }

// image returns the nodes' report on the image the spec asks for.
func (o observed) image() api.ImageStatus { return owner.Image(o.images, o.asks(), o.candidates) }

// need returns what the pods that the spec asks for need of a runtime. runtime is the one that has their image, empty
// while that is unknown.
func (o observed) need(runtime string) fit.Need {
	return fit.Of(o.spec, fit.Facts{Confined: o.object.Value.Confined(), Runtime: runtime}).Within(o.spec.Placement)
}

// imageRuntime returns the runtime that has the image of the spec, or until that is known of the newest release.
func (o observed) imageRuntime() string {
	if image := o.image(); image.State == api.ImagePresent {
		return image.FoundBy()
	}
	if newest := o.newestRelease(); newest != nil {
		return newest.RequiredRuntime()
	}
	return ""
}
