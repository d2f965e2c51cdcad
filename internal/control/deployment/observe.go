package deployment

import (
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/placement"
	"tend.dev/tend/internal/layout"
)

// observed is all a deployment depends on, read at one revision.
type observed struct {
	ref      api.Ref
	object   layout.Read[api.Object]
	spec     api.DeploymentSpec
	status   layout.Read[api.WorkloadStatus]
	tasks    []taskView
	releases []layout.Read[api.Release]
	request  layout.Read[api.ImageRequest]
	images   []layout.Read[api.ImageStatus]
	frozen   []layout.Read[api.Frozen]
	nodes    []layout.Read[api.NodeStatus]
	// refusals say why a task without a node can't be placed, by task id.
	refusals map[string]placement.Refusal
	env      map[string]string
}

// taskView is a task with both its halves.
type taskView struct {
	desired layout.Read[api.Task]
	status  *api.TaskStatus
}

// observe reads a deployment. ok is false where there is none.
func (c *Controller) observe(s layout.Snapshot, ref api.Ref) (o observed, ok bool, err error) {
	object := s.Object(ref)
	if !object.Exists() {
		return o, false, nil
	}
	return c.observeAs(s, object)
}

// observeAs reads everything around an object that is, or is about to be, stored.
func (c *Controller) observeAs(s layout.Snapshot, object layout.Read[api.Object]) (o observed, ok bool, err error) {
	ref := object.Value.Ref()
	o = observed{
		ref: ref, object: object,
		status: s.WorkloadStatus(ref), releases: s.Releases(ref), request: s.ImageRequest(ref),
		images: s.ImageStatuses(ref), frozen: s.Frozen(ref), nodes: s.Nodes(),
	}
	if o.spec, err = api.DecodeSpec[api.DeploymentSpec](*object.Value); err != nil {
		return o, true, err
	}
	waiting := false
	for _, task := range s.TasksOf(ref) {
		o.tasks = append(o.tasks, taskView{desired: task, status: s.TaskStatus(task.Value.ID).Value})
		waiting = waiting || task.Value.Node == "" && task.Value.Desired == api.DesiredRunning
	}
	if waiting && c.refusals != nil {
		o.refusals = c.refusals(s)
	}
	if o.env, err = c.env.merged(s, ref, o.spec); err != nil {
		return o, true, fmt.Errorf("read the environment of %s: %w", ref, err)
	}
	return o, true, nil
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

// rollout is the state of the newest rollout; never nil.
func (o observed) rollout() api.RolloutStatus {
	if o.status.Value == nil || o.status.Value.Rollout == nil {
		return api.RolloutStatus{}
	}
	return *o.status.Value.Rollout
}

func (o observed) stamp(name string) string { return o.object.Value.Metadata.Stamps[name] }

// image is what the nodes say of the image the spec asks for.
func (o observed) image() api.ImageStatus {
	best := api.ImageStatus{}
	for _, status := range o.images {
		s := *status.Value
		if s.Image != o.spec.Image || s.Nonce != o.stamp(api.StampPull) {
			continue
		}
		if best.State == "" || s.State == api.ImagePresent {
			best = s
		}
	}
	return best
}
