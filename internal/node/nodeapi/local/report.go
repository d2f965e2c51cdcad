package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// maxTries bounds how often a report is assembled again because something changed under it.
const maxTries = 20

// Report implements nodeapi.Control.
func (c *Control) Report(ctx context.Context, report node.Report) error {
	_, err := c.Write(ctx, report)
	return err
}

// Write is Report with the revision that shows the write: one commit on the condition that every desired half of the
// report is as it was read and every observed half as last written. It returns when the view has it. Parts about
// records that the store doesn't have are left out; a view that is behind proves nothing about that.
func (c *Control) Write(ctx context.Context, report node.Report) (int64, error) {
	if parts := report.Parts(); parts > node.MaxReport {
		return 0, &node.RefusedError{Parts: []string{fmt.Sprintf("a report of %d parts, more than %d", parts,
			node.MaxReport)}, Cause: node.ErrForbidden}
	}
	var conflict *store.ConflictError
	caughtUp, by := false, c.author()
	for range maxTries {
		snap := c.snapshot()
		txn, err := by.txn(snap, "agent.report")
		if err != nil {
			return 0, err
		}
		w := writer{node: c.node, snap: snap, txn: txn, asked: c.resolves, own: c.node == c.Own}
		w.write(plausible(report))
		if w.unknown && !caughtUp {
			if caughtUp, err = true, c.catchUp(ctx); err != nil {
				return 0, err
			}
			continue
		}
		revision, err := w.txn.Commit(ctx, c.Store)
		switch {
		case err == nil:
			if waited := c.View.WaitFor(ctx, revision); waited != nil {
				return 0, waited
			}
			return revision, w.refusal()
		case !errors.As(err, &conflict):
			return 0, err
		}
		if waited := c.View.WaitFor(ctx, max(conflict.Have, snap.Revision()+1)); waited != nil {
			return 0, waited
		}
	}
	return 0, fmt.Errorf("report of node %s: %w", c.node, conflict)
}

// catchUp waits until the view has all that was in the store when it was called. The node may know more than this
// server: it comes from another one, or the server has just begun to read.
func (c *Control) catchUp(ctx context.Context) error {
	page, err := c.Store.List(ctx, records.ClusterKey, store.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("request of node %s: read the store's revision: %w", c.node, err)
	}
	return c.View.WaitFor(ctx, page.Revision)
}

// writer assembles the commit of one report from one snapshot.
type writer struct {
	node    string
	snap    records.Snapshot
	txn     *records.Txn
	refused []string
	// asked reports whether the node is asked for an image; own is set for the node of this server.
	asked func(records.Snapshot, api.ImageRequest) bool
	own   bool
	// unknown is set if the report is about something that the snapshot doesn't have.
	unknown bool
}

func (w *writer) write(report node.Report) {
	for _, status := range report.Tasks {
		w.task(status)
	}
	for _, id := range report.Forget {
		w.forget(id)
	}
	for _, status := range report.Images {
		w.image(status)
	}
	for _, owner := range report.ForgetImages {
		key := records.ImageStatusKey(w.node, owner)
		stored := w.snap.ImageStatus(w.node, owner)
		w.unknown = w.unknown || !stored.Exists()
		if stored.Exists() && !w.snap.ImageRequest(owner).Exists() {
			w.txn.If(key, stored.Modified).Delete(key)
		}
	}
	if report.Node != nil {
		w.facts(*report.Node)
	}
}

// owned reports whether a task exists and is this node's; one of another node is refused.
func (w *writer) owned(id string) (records.Read[api.Task], bool) {
	task := w.snap.Task(id)
	if !task.Exists() {
		w.unknown = true
		return task, false
	}
	if task.Value.Node != w.node {
		w.refuse("task " + id + " belongs to node " + task.Value.Node)
		return task, false
	}
	return task, true
}

func (w *writer) task(status api.TaskStatus) {
	task, ok := w.owned(status.ID)
	if !ok {
		return
	}
	stored := w.snap.TaskStatus(status.ID)
	if stored.Exists() && !stored.Value.State.CanBecome(status.State) {
		w.refuse(fmt.Sprintf("task %s can't fall from %s to %s", status.ID, stored.Value.State, status.State))
		return
	}
	if once := task.Value.Class == api.ClassOnce; once && stored.Exists() && !status.State.Terminal() &&
		another(stored.Value.Container, status.Container) {
		w.refuse(fmt.Sprintf("task %s runs once, and had container %s before %s", status.ID,
			stored.Value.Container, status.Container))
		return
	}
	if status.Node != w.node {
		w.refuse("task " + status.ID + " is reported for node " + status.Node)
		return
	}
	if down := api.ReasonNodeDown; status.Reason == down && (!stored.Exists() || stored.Value.Reason != down) {
		w.refuse("task " + status.ID + " is reported as " + down + ", which only a person says")
		return
	}
	if w.tooLarge("the status of task "+status.ID, status) {
		return
	}
	key := records.TaskStatusKey(status.ID)
	w.txn.If(records.TaskKey(status.ID), task.Modified).If(key, stored.Modified).Put(key, status)
}

// tooLarge refuses a record that takes more of the store than a node may fill.
func (w *writer) tooLarge(what string, record any) bool {
	text, err := json.Marshal(record)
	if err != nil || len(text) > boundary.MaxStatus {
		w.refuse(fmt.Sprintf("%s has %d bytes, more than %d", what, len(text), boundary.MaxStatus))
		return true
	}
	return false
}

// another reports whether a container differs from the first; neither may be empty.
func another(first, container string) bool {
	return first != "" && container != "" && container != first
}

// forget deletes an observed half; only a task that is desired removed may have none.
func (w *writer) forget(id string) {
	task, ok := w.owned(id)
	if !ok {
		return
	}
	if task.Value.Desired != api.DesiredRemoved {
		w.refuse("task " + id + " is not to be removed")
		return
	}
	if stored := w.snap.TaskStatus(id); stored.Exists() {
		key := records.TaskStatusKey(id)
		w.txn.If(records.TaskKey(id), task.Modified).If(key, stored.Modified).Delete(key)
	}
}

func (w *writer) image(status api.ImageStatus) {
	request := w.snap.ImageRequest(status.Owner)
	if !request.Exists() || request.Value.OwnerUID != status.OwnerUID {
		w.unknown = true
		return
	}
	if status.Node != w.node {
		w.refuse("image of " + status.Owner.String() + " is reported for node " + status.Node)
		return
	}
	stored := w.snap.ImageStatus(w.node, status.Owner)
	switch {
	case !status.Answers(*request.Value):
		return // it is about an earlier request
	case !w.asked(w.snap, *request.Value):
		w.refuse("node " + w.node + " isn't asked for the image of " + status.Owner.String())
		return
	case !w.own && pinned(stored, *request.Value) && status.State != api.ImagePresent:
		return // the node has lost it, and gets it again
	case !w.own && pinned(stored, *request.Value) &&
		(status.ImageID != stored.Value.ImageID || status.Digest != stored.Value.Digest):
		w.refuse("the image of " + status.Owner.String() + " is " + stored.Value.ImageID + " until it is asked for again")
		return
	case !w.own && status.State == api.ImagePresent && mispinned(status.Digest, request.Value.Image):
		w.refuse(fmt.Sprintf("the image of %s is pinned by its digest, %s, and the answer has %q", status.Owner,
			api.PinnedDigest(request.Value.Image), status.Digest))
		return
	case stored.Exists() && says(*stored.Value, status):
		return
	case w.tooLarge("the answer about the image of "+status.Owner.String(), status):
		return
	}
	key := records.ImageStatusKey(w.node, status.Owner)
	w.txn.If(records.ImageKey(status.Owner), request.Modified).If(key, stored.Modified).Put(key, status)
}

// says reports whether an answer says no more than the one before.
func says(before, answer api.ImageStatus) bool {
	before.UpdatedAt = answer.UpdatedAt
	return reflect.DeepEqual(before, answer)
}

// mispinned reports whether an answer has another digest than the one that the manifest names.
func mispinned(digest, image string) bool {
	pinned := api.PinnedDigest(image)
	return pinned != "" && digest != pinned
}

// pinned reports whether a request has an answer that stands. What a registry's tag named once holds until it is asked
// for again, also while the node doesn't have it: else it could name another image in two steps. A built image may be
// built again, and an image that no registry has is the one on the node.
func pinned(stored records.Read[api.ImageStatus], request api.ImageRequest) bool {
	return stored.Exists() && stored.Value.Answers(request) && request.Build == nil &&
		stored.Value.State == api.ImagePresent && stored.Value.Digest != ""
}

func (w *writer) facts(status api.NodeStatus) {
	if status.ID != w.node {
		w.refuse("facts of node " + status.ID)
		return
	}
	if status.Address.IsValid() && !boundary.Relay(status.Address) {
		w.refuse(fmt.Sprintf("the address %s of node %s, which others can't reach", status.Address, w.node))
		return
	}
	if !boundary.Machine(status) {
		w.refuse(fmt.Sprintf("facts of node %s, which would have %g cores and %d bytes of memory", w.node, status.CPUs,
			status.MemoryBytes))
		return
	}
	if w.tooLarge("the facts of node "+w.node, status) {
		return
	}
	key := records.NodeKey(w.node)
	w.txn.If(key, w.snap.Node(w.node).Modified).Put(key, status)
}

func (w *writer) refuse(part string) { w.refused = append(w.refused, part) }

func (w *writer) refusal() error {
	if len(w.refused) == 0 {
		return nil
	}
	return &node.RefusedError{Parts: w.refused, Cause: node.ErrForbidden}
}
