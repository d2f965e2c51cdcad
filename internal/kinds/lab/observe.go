package lab

import (
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/dependency"
	"tend.dev/tend/internal/core/lab"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/kinds/owner"
	"tend.dev/tend/internal/store/imageask"
	"tend.dev/tend/internal/store/records"
)

// observed is the state that a lab depends on, read at one revision.
type observed struct {
	ref      api.Ref
	object   records.Read[api.Object]
	spec     api.LabSpec
	status   records.Read[api.LabStatus]
	orders   records.Read[api.LabOrders]
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

// observe reads a lab and everything related to it. One that is being deleted is handled even if its manifest is
// unreadable.
func (c *labs) observe(at control.Observation) (observed, error) {
	s, object := at.Snapshot, at.Object
	ref, nodes := object.Value.Ref(), c.Liveness.Nodes.Answers(s)
	o := observed{
		ref: ref, object: object, status: s.LabStatus(ref), orders: s.LabOrders(ref), releases: s.Releases(ref),
		request: s.ImageRequest(ref), candidates: owner.Candidates(s, ref, nodes), nodes: nodes.All, set: nodes,
	}
	o.images, o.early = owner.ImageAnswers(s, object, at.Now)
	o.resolver = owner.Asked(s, o.request, o.images)
	o.tasks, o.silent = c.Liveness.Tasks(s, ref)
	var err error
	if o.spec, err = api.DecodeSpec[api.LabSpec](*object.Value); err != nil && !o.deleting() {
		return o, owner.InvalidSpec(ref, fmt.Errorf("read its manifest: %w", err))
	}
	return o, nil
}

func (o observed) deleting() bool { return o.object.Value.Metadata.Deleting() }

// asked returns what people have asked of this lab; the orders of an earlier one of its name don't count.
func (o observed) asked() api.LabOrders {
	if !o.orders.Exists() || o.orders.Value.OwnerUID != o.object.Value.Metadata.UID {
		return api.LabOrders{}
	}
	return *o.orders.Value
}

// before returns the stored status; the zero value if there is none.
func (o observed) before() api.LabStatus {
	if o.status.Value == nil {
		return api.LabStatus{}
	}
	return *o.status.Value
}

// lab returns the observed state in the planner's types.
func (o observed) lab() lab.Observed {
	was := o.before()
	out := lab.Observed{Phase: was.Phase, StartedAt: was.StartedAt, Failures: was.Failures, RetryAt: was.RetryAt,
		Tried: was.Release}
	for _, t := range o.tasks {
		task := t.Desired.Value
		out.Tasks = append(out.Tasks, lab.Task{
			Attempt: t.Attempt(), ID: task.ID, Release: task.Release, Node: task.Node, Number: max(task.Attempt, 1),
			CreatedAt: task.CreatedAt,
		})
	}
	return out
}

// desired returns the desired state in the planner's types.
func (o observed) desired(release, held string) lab.Desired {
	asked := o.asked()
	return lab.Desired{
		Deleting: o.deleting(), Start: o.spec.StartsAt(),
		Duration:  o.spec.Duration.Or(api.MinLabDuration) + asked.Extended,
		StoppedBy: person(asked.StoppedBy), Release: release, Held: held,
		Over: o.object.Value.RestoredAt(), Redeclared: o.object.Value.Redeclared(),
	}
}

// person returns who asked without the id of the process that did.
func person(actor string) string {
	who, _, _ := strings.Cut(actor, " (pid ")
	return who
}

// image returns the nodes' answer about the image, which may come before the request.
func (o observed) image() api.ImageStatus {
	image := owner.Image(o.images, o.asks(), o.candidates)
	if image.State == api.ImagePulling && image.Attempts > 0 {
		image.State = api.ImageFailed // it is tried again: until that has an end, the last one counts
	}
	return image
}

// wantedImage returns the image request; due reports whether it has yet to be written.
func (o observed) wantedImage() (want api.ImageRequest, due bool) {
	want = o.asks()
	there := o.request.Exists() && o.request.Value.Equal(want)
	return want, want.Image != "" && o.begins() && !o.deleting() && !there
}

// asks returns the image request of the manifest.
func (o observed) asks() api.ImageRequest {
	return imageask.Request(*o.object.Value, api.WorkloadSpec{DeploymentSpec: o.spec.Workload()})
}

// assessment is the result of one reconcile's planning: everything that its step commits.
type assessment struct {
	target  owner.Target
	refused *owner.Refusal
	plan    lab.Plan
	// unplaced is the reason why its task has no node.
	unplaced placement.Refusal
	// patience is the time left in which a task without a node is expected to get one.
	patience time.Duration
	// url is the lab's address; empty while it doesn't run. unserved says why no ingress serves its host.
	url      string
	unserved unserved
}

// roomPatience is the time for which a lab without a node counts as starting. A node may connect or become free in
// that time.
const roomPatience = 5 * time.Second

// assess decides what a lab needs.
func (c *labs) assess(s records.Snapshot, o observed, now time.Time) (a assessment, err error) {
	held := ""
	if !o.deleting() && o.begins() {
		if a.target, a.refused, err = c.choose(s, o, now); err != nil {
			return a, err
		}
		if a.refused != nil {
			s.Fleeting() // an environment may become readable without a write
		}
		if needs := o.spec.DependsOn; needs != nil {
			held = strings.Join(dependency.Waiting(o.ref.Scope, needs.Workloads, control.Dependencies(s)), ", ")
		}
	}
	a.plan = lab.Decide(o.desired(a.target.ID, held), o.lab(), now)
	if t := a.plan.Current; t != nil && t.Placed && t.Desired == api.DesiredRunning {
		a.refused = nil // it has its container: nothing is made from the manifest any more
	}
	a.unplaced = owner.Unplaced(s, o.tasks, c.board)
	if a.unplaced.Message != "" && a.plan.Current != nil {
		a.patience = max(0, a.plan.Current.CreatedAt.Add(roomPatience).Sub(now))
	}
	if a.plan.Phase == api.LabRunning {
		a.url = accessURL(s, o, a.plan.Current)
		if _, routed := o.spec.Route(); routed && a.url == "" {
			a.unserved = whyUnserved(s)
		}
	}
	return a, nil
}

// begins reports whether a container may still have to be made.
func (o observed) begins() bool {
	phase := o.before().Phase
	return phase == "" || phase == api.LabPending || phase == api.LabProvisioning
}

// choose returns the release of the next container.
func (c *labs) choose(s records.Snapshot, o observed, now time.Time) (owner.Target, *owner.Refusal, error) {
	return owner.Choose(s, c.env, owner.Recipe{
		Object: *o.object.Value, Declared: o.spec.Workload(), Image: o.image(), Newest: owner.Newest(o.releases),
		LastNumber: o.before().LastReleaseNumber, First: "first start", Runtimes: o.set.Runtimes,
		Spec: func(resolved api.Container) any {
			return api.LabSpec{Container: resolved, Ports: o.spec.Ports}
		},
	}, now)
}
