package verbs

import (
	"context"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// Down is a person's statement about a node.
type Down int

// What a person says: it is off and comes back, it is gone for good, it is to be cut off although it answers.
const (
	ConfirmDown Down = iota
	RemoveNode
	ForceNodeOut
)

// NodeDown records that a silent node is off: its tasks have ended, so that others take their places, in statefulsets
// too. One that is removed is no longer of the cluster: its certificate is refused, its connections are closed, and
// what its volumes held is given up. A node that answers is refused, unless it is forced out: what it could read is
// named then. A dry run stores nothing.
func (s *Service) NodeDown(ctx context.Context, node string, how Down, dryRun bool, actor string,
) (api.NodeDownResult, error) {
	verb := "remove"
	if how == ConfirmDown {
		verb = "confirm-down"
	}
	prepare := func(snap records.Snapshot) (*downDecision, error) { return s.prepareDown(snap, node, how) }
	if dryRun {
		decided, _, err := consider(ctx, s, prepare)
		if err != nil {
			return api.NodeDownResult{}, err
		}
		return decided.result, nil
	}
	decided, revision, err := decide(FieldManager{Actor: actor}.asks(ctx, verb), s, prepare)
	if err != nil {
		return api.NodeDownResult{}, err
	}
	decided.result.Revision = revision
	s.note(ctx, verb, actor, revision, nodeRef(node))
	return decided.result, nil
}

func (s *Service) prepareDown(snap records.Snapshot, node string, how Down) (*downDecision, error) {
	member := snap.Member(node)
	if !snap.Node(node).Exists() && !snap.Object(nodeRef(node)).Exists() && (!member.Exists() || member.Value.Removed) {
		return nil, noNode(snap, node)
	}
	site := "node.remove"
	if how == ConfirmDown {
		site = "node.down"
	}
	d := &downDecision{txn: records.NewTxn(site), result: api.NodeDownResult{Node: node}}
	switch {
	case how == ForceNodeOut && member.Exists() && member.Value.Server != "":
		return nil, &Error{Reason: InUse, Detail: "node " + node + " is that of server " + member.Value.Server,
			Next: "take the server out first: tend servers remove " + member.Value.Server}
	case how == ForceNodeOut && !member.Exists() && snap.Alive(node): // that of a server that is alone has no record
		return nil, &Error{Reason: InUse, Detail: "node " + node + " is that of the server itself",
			Next: "a server without containers is started with --no-agent; `tend drain " + node +
				"` moves its pods to other nodes before"}
	case how == ForceNodeOut:
		d.txn.Delete(records.AliveKey(node))
		d.result.Rotate = exposed(snap, node)
		revokeToken(d, snap, node, s)
	case snap.Alive(node):
		return nil, answers(snap, node, how)
	default:
		d.txn.If(records.AliveKey(node), 0)
	}
	d.result.Data = dataOn(snap, node)
	s.end(d, snap, node, how != ConfirmDown)
	if how != ConfirmDown {
		removeNode(d, snap, node)
	}
	return d, nil
}

// answers refuses a node whose heartbeat lasts. One that is silent may still answer.
func answers(snap records.Snapshot, node string, how Down) *Error {
	if !snap.Heartbeat(node).Beats() {
		return &Error{Reason: InUse,
			Detail: "node " + node + " is silent, but not down yet: its heartbeat lasts a little longer",
			Next:   "repeat this once `tend nodes` says that it is down"}
	}
	next := "stop Tend on it first (systemctl stop tend-agent) and wait until `tend nodes` says that it is down; " +
		"`tend drain " + node + "` moves its pods before"
	if how == RemoveNode {
		next += "; --force cuts a node off that can't be stopped"
	}
	return &Error{Reason: InUse, Detail: "node " + node + " is still connected", Next: next}
}

// end writes the end of the node's tasks in the place of its agent, which doesn't answer.
func (s *Service) end(d *downDecision, snap records.Snapshot, node string, remove bool) {
	message := "a person said that node " + node + " is off"
	if remove {
		message = "node " + node + " was removed from the cluster"
	}
	for _, task := range snap.TasksOn(node) {
		read := snap.TaskStatus(task.Value.ID)
		status := api.TaskStatus{ID: task.Value.ID, Node: node, CreatedAt: task.Value.CreatedAt}
		if read.Exists() {
			status = *read.Value
		}
		if status.State.Terminal() || !read.Exists() && task.Value.Desired == api.DesiredRemoved {
			continue
		}
		status.State, status.Ready, status.Reason, status.Message, status.FinishedAt = api.TaskFailed, false,
			api.ReasonNodeDown, message, s.opts.Now()
		status.Next = ""
		key := records.TaskStatusKey(status.ID)
		d.txn.If(records.TaskKey(status.ID), task.Modified).If(key, read.Modified).Put(key, status)
		d.result.Pods = append(d.result.Pods, task.Value.ContainerName())
	}
}

// removeNode deletes what the store knows of a node.
func removeNode(d *downDecision, snap records.Snapshot, node string) {
	member := snap.Member(node)
	d.txn.If(records.MemberKey(node), member.Modified).Put(records.MemberKey(node), records.Member{Removed: true})
	d.txn.Delete(records.NodeKey(node)).Delete(records.IngressNodeKey(node)).Delete(records.NetworkNodeKey(node))
	if object := snap.Object(nodeRef(node)); object.Exists() {
		key := records.ObjectKey(nodeRef(node))
		d.txn.If(key, object.Modified).Delete(key)
	}
	for record := range snap.Prefix(records.ActualImagesPrefix + node + "/") {
		d.txn.Delete(record.Key)
	}
	for volume, home := range snap.Homes() {
		if home == node {
			d.txn.Delete(records.HomeKey(volume))
			d.result.Volumes = append(d.result.Volumes, volume)
		}
	}
	slices.Sort(d.result.Volumes)
}

// dataOn returns the pods whose data is on a node, by name.
func dataOn(snap records.Snapshot, node string) (out []api.PodVolumes) {
	homes, listed := snap.Homes(), map[string]bool{}
	for _, task := range snap.TasksOn(node) {
		t := *task.Value
		volumes := slices.DeleteFunc(volumesOf(snap, t), func(volume string) bool { return homes[volume] != node })
		if pod := t.ContainerName(); len(volumes) > 0 && !t.Leftover && !listed[pod] {
			listed[pod] = true
			out = append(out, api.PodVolumes{Pod: pod, Object: t.Owner(), Volumes: volumes})
		}
	}
	slices.SortFunc(out, func(a, b api.PodVolumes) int { return strings.Compare(a.Pod, b.Pod) })
	return out
}

// volumesOf returns the volumes and folders in which a task's release keeps data.
func volumesOf(snap records.Snapshot, task api.Task) (out []string) {
	release := snap.ReleaseOf(task)
	if !release.Exists() {
		return nil
	}
	spec, err := api.DecodeWorkload(release.Value.Kind, release.Value.Spec)
	if err != nil {
		return nil // what can't be read mounts nothing
	}
	for _, entry := range spec.Volumes {
		if v, err := api.ParseVolume(entry); err == nil && v.Data() {
			out = append(out, v.Source)
		}
	}
	if n, ok := task.Ordinal(); ok {
		out = append(out, claimVolumes(task.Owner(), spec.Claims, n)...)
	}
	return out
}
