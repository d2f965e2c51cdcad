package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/adoption"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// resumeTime bounds a resume, which continues if its caller disconnects.
const resumeTime = 5 * time.Minute

// resume ends the pause of the cluster. Containers that match a task of the store become that task's; unknown decides
// the fate of the others. If there are others and unknown is empty, resume returns an error before it changes anything.
// Its last commit ends the pause: after a crash before it the cluster is still paused, and the next resume, by any
// server, continues.
func (d *daemon) resume(ctx context.Context, unknown api.UnknownContainers) (api.ResumeResult, error) {
	d.resuming.Lock()
	defer d.resuming.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resumeTime)
	defer cancel()
	result, err := d.resumeInTerm(ctx, unknown)
	if conflict, ok := errors.AsType[*store.ConflictError](err); ok && conflict.Key == controlplane.ElectionKey {
		err = &api.Problem{Status: http.StatusConflict, Title: "Conflict",
			Detail: "this server gave up the controllers meanwhile, or another one took them: " + err.Error(),
			Next:   "tend resume continues"}
	}
	return result, err
}

// resumeInTerm does the work of resume. All that it commits is applied only during the term that it claims.
func (d *daemon) resumeInTerm(ctx context.Context, unknown api.UnknownContainers) (api.ResumeResult, error) {
	if err := d.catchUp(ctx); err != nil {
		return api.ResumeResult{}, err
	}
	term, err := d.claimed(ctx)
	defer d.unclaimed(ctx)
	if err != nil {
		return api.ResumeResult{}, err
	}
	settles := term != 0
	snap := d.snapshot()
	absent := d.absent(snap)
	if settles && len(absent) > 0 && unknown != api.UnknownKeep {
		return api.ResumeResult{}, nodesAbsent(absent)
	}
	adopted, left, err := d.found(ctx, snap, settles)
	if err != nil {
		return api.ResumeResult{}, err
	}
	result := resultOf(adopted, left, absent)
	if len(left) > 0 && unknown == "" {
		return result, &api.Problem{Type: api.ProblemType + "UnknownContainers", Status: http.StatusConflict,
			Title:  "UnknownContainers",
			Detail: "the store doesn't know these containers of this cluster: " + strings.Join(result.Unknown, ", "),
			Next:   "tend resume --stop stops and removes them (volumes stay); tend resume --keep leaves them running, quarantined"}
	}
	if err := d.adopt(ctx, snap, adopted, term); err != nil {
		return result, err
	}
	if err := d.discardEnded(ctx, adopted); err != nil {
		return result, err
	}
	if unknown == api.UnknownStop {
		if result.Stopped, err = d.discard(ctx, left); err != nil {
			return result, err
		}
		result.Unknown = nil
	}
	if !settles {
		return result, nil
	}
	if err := d.settle(ctx, term); err != nil {
		return result, err
	}
	if err := d.endPause(ctx, term); err != nil {
		return result, err
	}
	d.Logger.InfoContext(ctx, "resumed", "adopted", result.Adopted, "stopped", result.Stopped, "kept", result.Unknown)
	d.followPause(ctx)
	return result, nil
}

// resumeTxn begins a commit of a resume, which is applied only during the term in which the resume began. A pause that
// begins meanwhile ends that term.
func resumeTxn(site string, term int64) *records.Txn {
	return records.NewTxn(site).If(controlplane.ElectionKey, term)
}

// catchUp waits until the view has everything that is stored. Before that, every container would seem unknown, and
// another server may have paused or resumed the cluster.
func (d *daemon) catchUp(ctx context.Context) error {
	if !d.awaitView(ctx) {
		return fmt.Errorf("read the store: %w", ctx.Err())
	}
	if fresh := d.fresh(); fresh != nil {
		if err := fresh(ctx); err != nil {
			return err
		}
	}
	d.followPause(ctx)
	return nil
}

// nodesAbsent returns the error of a resume while nodes are not connected.
func nodesAbsent(absent []string) error {
	return &api.Problem{Type: api.ProblemType + "NodesAbsent", Status: http.StatusConflict, Title: "NodesAbsent",
		Detail: "these nodes are not connected, so what runs there can't be compared with the store: " +
			strings.Join(absent, ", "),
		Next: "start their agents and resume again; tend resume --keep goes on without them, and leaves what the store doesn't know quarantined"}
}

// absent returns the nodes in the store that are not connected.
func (d *daemon) absent(snap records.Snapshot) (out []string) {
	for _, known := range snap.Nodes() {
		if _, err := d.fleet.Node(known.Value.ID); err != nil {
			out = append(out, known.Value.ID)
		}
	}
	return out
}

// stray is a container without a task, and its node.
type stray struct {
	adoption.Orphan
	node string
}

// found compares the containers of all connected nodes with the store: each is adopted by a task of its own node, or
// returned in left. After the pause all are left: the controllers use the store as it is.
func (d *daemon) found(
	ctx context.Context, snap records.Snapshot, paused bool,
) (adopted []adoption.Adoption, left []stray, err error) {
	for _, id := range d.fleet.Connected() {
		on, err := d.fleet.Node(id)
		if err != nil {
			return nil, nil, err
		}
		listed, err := on.List(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("list the containers of %s: %w", id, err)
		}
		var places []adoption.Vacant
		if paused {
			places = vacant(snap, id, listed)
		}
		own, others := adoption.Match(places, orphans(snap, listed))
		if adopted = append(adopted, own...); paused {
			adopted = append(adopted, unplaced(snap, id, listed, own)...)
		}
		for _, other := range others {
			left = append(left, stray{other, id})
		}
	}
	left, err = d.unknown(ctx, left)
	return adopted, left, err
}

// unknown returns those of the containers whose task isn't in the store by now: after the pause, controllers start
// containers that an older snapshot doesn't show.
func (d *daemon) unknown(ctx context.Context, left []stray) ([]stray, error) {
	if len(left) == 0 {
		return nil, nil
	}
	if err := d.catchUp(ctx); err != nil {
		return nil, err
	}
	snap := d.snapshot()
	return slices.DeleteFunc(slices.Clone(left), func(s stray) bool { return snap.Task(s.Task).Exists() }), nil
}

// vacant returns the node's tasks that should run but have no running container: the container that replaced theirs
// since the backup may run.
func vacant(snap records.Snapshot, node string, listed []runtime.Container) (out []adoption.Vacant) {
	present, ended := map[string]bool{}, map[string]bool{}
	for _, container := range listed {
		switch {
		case container.Labels[api.LabelInit] != "" || container.Labels[api.LabelRole] != "":
		case hasEnded(container):
			ended[container.Task()] = true
		default:
			present[container.Task()] = true
		}
	}
	for _, task := range snap.TasksOn(node) {
		release := snap.ReleaseOf(*task.Value)
		if !present[task.Value.ID] && release.Exists() {
			out = append(out, adoption.Vacant{
				Task: *task.Value, Fingerprint: release.Value.Fingerprint(), Succeeded: succeeded(snap, *task.Value),
				Ended: ended[task.Value.ID],
			})
		}
	}
	return out
}

func hasEnded(c runtime.Container) bool {
	return c.State == runtime.StateExited || c.State == runtime.StateDead
}

// succeeded reports whether another task of the owner replaces this one.
func succeeded(snap records.Snapshot, task api.Task) bool {
	return slices.ContainsFunc(snap.TasksOf(task.Owner()), func(other records.Read[api.Task]) bool {
		return other.Value.Replaces == task.Slot && other.Value.ID != task.ID && other.Value.Desired == api.DesiredRunning
	})
}

// unplaced returns tasks that have a container on this node although the store has no node for them: it is older than
// their placement. They continue to replace those whose places were adopted.
func unplaced(
	snap records.Snapshot, node string, listed []runtime.Container, adopted []adoption.Adoption,
) (out []adoption.Adoption) {
	for _, container := range listed {
		task := snap.Task(container.Task())
		if !task.Exists() || task.Value.Node != "" ||
			slices.ContainsFunc(out, func(a adoption.Adoption) bool { return a.Old.ID == task.Value.ID }) {
			continue
		}
		placed := *task.Value
		placed.Node = node
		adoption.Rename(&placed, adopted)
		out = append(out, adoption.Adoption{Old: *task.Value, New: placed})
	}
	return out
}

// orphans returns the containers whose task isn't in the store.
func orphans(snap records.Snapshot, listed []runtime.Container) (out []adoption.Orphan) {
	for _, c := range listed {
		if snap.Task(c.Task()).Exists() {
			continue
		}
		out = append(out, adoption.Orphan{
			ID: c.ID, Name: c.Name, Task: c.Task(), Slot: c.Labels[api.LabelSlot], Release: c.Labels[api.LabelRelease],
			Fingerprint: c.Labels[api.LabelFingerprint],
			Owner: api.Ref{Kind: api.Kind(c.Labels[api.LabelKind]), Scope: c.Labels[api.LabelScope],
				Name: c.Labels[api.LabelName]},
			Running:   c.State == runtime.StateRunning,
			Auxiliary: c.Labels[api.LabelInit] != "" || c.Labels[api.LabelRole] != "",
		})
	}
	return out
}

func resultOf(adopted []adoption.Adoption, left []stray, absent []string) (out api.ResumeResult) {
	out.Absent = absent
	for _, a := range adopted {
		out.Adopted = append(out.Adopted, a.New.ContainerName())
	}
	for _, s := range left {
		out.Unknown = append(out.Unknown, s.Name)
	}
	return out
}
