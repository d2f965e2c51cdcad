package server

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/store/records"
)

// podFilter chooses pods; the zero value chooses all.
type podFilter struct {
	kind              api.Kind
	scope, name, node string
	// visible are the scopes that the caller sees; nil is all.
	visible []string
}

func (f podFilter) wants(t *api.Task) bool {
	return (f.kind == "" || f.kind == t.Kind) && (f.scope == "" || f.scope == t.Scope) &&
		(f.name == "" || f.name == t.Name) && (f.node == "" || f.node == t.Node) &&
		(f.visible == nil || slices.Contains(f.visible, t.Scope))
}

// podsOf lists pods, sorted by scope, name, ordinal if they have one, and age.
func podsOf(snap records.Snapshot, wanted podFilter) []api.Pod {
	out := []api.Pod{}
	frozen := map[api.Ref]map[string]bool{}
	for _, task := range snap.Tasks() {
		if task.Value.Leftover || !wanted.wants(task.Value) {
			continue
		}
		owner := task.Value.Owner()
		if frozen[owner] == nil {
			frozen[owner] = frozenSlots(snap, owner)
		}
		out = append(out, podOf(snap, task.Value, frozen[owner][task.Value.Slot]))
	}
	sortPods(out)
	return out
}

// podsOwnedBy lists the pods of an object in the same order.
func podsOwnedBy(snap records.Snapshot, owner api.Ref) []api.Pod {
	var out []api.Pod
	frozen := frozenSlots(snap, owner)
	for _, task := range snap.TasksOf(owner) {
		out = append(out, podOf(snap, task.Value, frozen[task.Value.Slot]))
	}
	sortPods(out)
	return out
}

func sortPods(pods []api.Pod) {
	slices.SortStableFunc(pods, func(a, b api.Pod) int {
		return cmp.Or(strings.Compare(a.Scope, b.Scope), strings.Compare(a.Resource, b.Resource),
			cmp.Compare(ordinalOf(a), ordinalOf(b)), a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.Name, b.Name))
	})
}

// ordinalOf returns a pod's ordinal, or 0 if it has none.
func ordinalOf(p api.Pod) int {
	n, _ := api.Task{Kind: p.Kind, Slot: p.Slot, Run: p.Run, Role: p.Role}.Ordinal()
	return n
}

func frozenSlots(snap records.Snapshot, owner api.Ref) map[string]bool {
	slots := map[string]bool{}
	for _, mark := range snap.Frozen(owner) {
		slots[mark.Value.Slot] = true
	}
	return slots
}

// unknownPods counts the pods of an object that were ready in the last report of their node, if that node is silent but
// not lost yet. The object's controller no longer counts lost pods.
func unknownPods(snap records.Snapshot, owner api.Ref) (count int) {
	for _, task := range snap.TasksOf(owner) {
		t := task.Value
		if t.Desired != api.DesiredRunning || t.Role != api.RoleMain || !silent(snap, t.Node) {
			continue
		}
		if state := snap.NodeState(t.Node); state.Exists() && state.Value.State == api.NodeLost {
			continue
		}
		if status := snap.TaskStatus(t.ID); status.Exists() && status.Value.Ready && !status.Value.CrashLoop {
			count++
		}
	}
	return count
}

// silent reports whether a node has no heartbeat.
func silent(snap records.Snapshot, node string) bool {
	return snap.Node(node).Exists() && !snap.Alive(node)
}

// podOf returns a pod from its task and the task's status.
func podOf(snap records.Snapshot, t *api.Task, frozen bool) api.Pod {
	pod := api.Pod{Name: t.ContainerName(), Kind: t.Kind, Scope: t.Scope, Resource: t.Name, Slot: t.Slot, Task: t.ID,
		Node: t.Node, Release: t.Release, State: api.TaskPending, Desired: t.Desired, Frozen: frozen, Reason: t.Reason,
		Run: t.Run, Role: t.Role,
		CreatedAt: t.CreatedAt, FinishedAt: t.EndedAt}
	if t.Node != "" {
		pod.State = api.TaskAssigned
	}
	if release := snap.ReleaseOf(*t); release.Exists() {
		pod.Image, pod.ImageID = release.Value.Image, release.Value.ImageID
	}
	if status := snap.TaskStatus(t.ID); status.Exists() {
		observe(&pod, status.Value)
		pod.Settling = t.Kind.TimeBoxed() && t.Monitor != "" && t.Desired == api.DesiredRunning && !status.Value.Steady
	}
	if pod.Live() && pod.Role == api.RoleMain {
		pod.Target, pod.Outdated = targetOf(snap, t)
	}
	if failed := t.Failed; failed != nil && pod.Live() && !pod.Ready && pod.Message == "" {
		pod.Message, pod.Next = fmt.Sprintf("attempt %d; the last one failed: %s", t.Attempt, failed.Message), failed.Next
	}
	switch {
	case !pod.Live() || !snap.Node(t.Node).Exists() || snap.Observed(t.Node):
	case silent(snap, t.Node):
		pod.Ready, pod.Reason, pod.Message = false, api.ReasonNodeLost, "node "+t.Node+" does not answer; this is its last report"
	default:
		pod.Ready, pod.Reason, pod.Message = false, api.ReasonEngineUnavailable,
			"the container engine of node "+t.Node+" has not answered since the agent was started; this is an earlier report"
	}
	return pod
}

// targetOf returns the release to which the rollout updates a task, and whether that replaces it; empty if it is of
// that release.
func targetOf(snap records.Snapshot, t *api.Task) (target string, outdated bool) {
	status := snap.WorkloadStatus(t.Owner()).Value
	if !t.Kind.HasSlots() || status == nil || status.Rollout == nil || status.Rollout.TargetRelease == t.Release {
		return "", false
	}
	target = status.Rollout.TargetRelease
	wanted, runs := snap.Release(t.Owner(), target).Value, snap.ReleaseOf(*t).Value
	if wanted == nil || runs == nil {
		return "", false
	}
	root := snap.Release(t.Owner(), wanted.Root()).Value
	return target, !wanted.Repeats(*runs) && (root == nil || !root.Repeats(*runs))
}

// observe fills in a pod from the status that its node reported.
func observe(pod *api.Pod, status *api.TaskStatus) {
	pod.State, pod.Ready = status.State, status.Ready && pod.Desired == api.DesiredRunning && !status.CrashLoop
	pod.Container, pod.Address, pod.Ports = status.Container, status.Address, status.Ports
	pod.Incarnations, pod.CrashLoop = status.Incarnations, status.CrashLoop
	pod.ExitCode, pod.OOMKilled, pod.Exits, pod.LastLog = status.ExitCode, status.OOMKilled, status.Exits, status.LastLog
	pod.PID, pod.Probes, pod.LivenessRestarts = status.PID, status.Probes, status.LivenessRestarts
	pod.StartedAt, pod.ReadyAt, pod.Message, pod.Next = status.StartedAt, status.ReadyAt, status.Message, status.Next
	pod.ImageID = cmp.Or(pod.ImageID, status.ImageID)
	if status.Reason != "" {
		pod.Reason = status.Reason
	}
	if !status.FinishedAt.IsZero() {
		pod.FinishedAt = status.FinishedAt
	}
}

// findTask finds the task of a pod's name; if several filled the slot, the present one.
func findTask(snap records.Snapshot, pod string) (*api.Task, error) {
	problem := &api.Problem{Status: http.StatusNotFound, Detail: "there is no pod " + clip(pod),
		Next: "`tend get pods` lists what there is; a pod is named SCOPE-NAME.ID"}
	ref, slot, found := ownerOfPod(snap, pod)
	if !found {
		return nil, problem
	}
	if task := taskOfSlot(snap, ref, slot); task != nil {
		return task, nil
	}
	problem.Detail += podMeant(snap, ref, pod)
	problem.Next = "`tend get pods " + ref.Scope + "/" + ref.Name + "` lists those there are"
	return nil, problem
}

// ownerOfPod returns the object and the slot in a pod's name. The pod need not exist; ok is false if there is no such
// object.
func ownerOfPod(snap records.Snapshot, pod string) (owner api.Ref, slot string, found bool) {
	app, slot, _ := cutLast(pod, ".")
	record, _ := snap.Get(records.NamesPrefix + app)
	ref, _ := record.Value.(*api.Ref)
	if ref == nil || slot == "" {
		return api.Ref{}, "", false
	}
	return *ref, slot, true
}

// podMeant returns a question whether another pod of the object was meant, or a hint that the pod may be gone, since
// each rollout makes new ones.
func podMeant(snap records.Snapshot, owner api.Ref, pod string) string {
	app, slot, _ := cutLast(pod, ".")
	var slots []string
	for _, task := range snap.TasksOf(owner) {
		slots = append(slots, task.Value.Slot)
	}
	if near := suggest.Nearest(slot, slots); near != "" {
		return suggest.Behind(app + "." + near)
	}
	return " (any more)"
}

// taskOfSlot returns the task that fills a slot, else the newest one that did; nil if there is none.
func taskOfSlot(snap records.Snapshot, owner api.Ref, slot string) *api.Task {
	if record, ok := snap.Get(records.SlotKey(owner, slot)); ok {
		id, _ := record.Value.(string)
		if task := snap.Task(id); task.Exists() {
			return task.Value
		}
	}
	var newest *api.Task
	for _, task := range snap.TasksOf(owner) {
		if task.Value.Slot == slot {
			newest = task.Value
		}
	}
	return newest
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}
