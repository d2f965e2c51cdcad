package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	container "tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/records"
)

// keptTime bounds a node's answer to the question which logs it keeps.
const keptTime = 10 * time.Second

// earlier is the output of a pod that ended: that of an existing container, or a log that its node keeps.
type earlier struct {
	source
	// kept is set if the container no longer exists.
	kept    bool
	slot    string
	run     string
	release string
	at      time.Time
}

// previousLogs writes the output of the pods that ran before those of an object.
func (s *Server) previousLogs(ctx context.Context, out *lines, snap records.Snapshot, wanted logsOf) error {
	found, away := s.earlierPods(ctx, snap, wanted.owner)
	var tasks []*api.Task
	for _, task := range snap.TasksOf(wanted.owner) {
		tasks = append(tasks, task.Value)
	}
	var heads []*head
	defer func() {
		for _, h := range heads {
			h.reader.Close()
		}
	}()
	var missing []api.LogLine
	for _, err := range away {
		// It isn't known whether such a node keeps any of the output, so this is a note and no failure.
		missing = append(missing, api.LogLine{Note: "output of earlier pods may be missing: " + err.Error()})
	}
	for _, e := range wanted.choosePrevious(tasks, found) {
		reader, err := s.readEarlier(ctx, e, wanted.opts)
		if err == nil {
			heads = append(heads, &head{pod: e.pod, reader: reader})
			continue
		}
		if away = append(away, err); !absent(err) {
			missing = append(missing, api.LogLine{Pod: e.pod, Error: problemOf(err)})
		}
	}
	if len(heads) == 0 {
		return wanted.noPrevious(away)
	}
	return drainAll(out, missing, heads)
}

func (s *Server) readEarlier(ctx context.Context, e earlier, opts container.LogOptions) (container.LogReader, error) {
	if !e.kept {
		return s.read(ctx, e.source, opts)
	}
	on, err := s.Nodes.Node(e.node)
	if err != nil {
		return nil, err
	}
	return on.KeptLog(ctx, e.id, opts)
}

// earlierPods returns the ended pods of an object, the newest first, and the errors of nodes that could not be asked.
func (s *Server) earlierPods(
	ctx context.Context, snap records.Snapshot, owner api.Ref,
) (found []earlier, away []error) {
	for _, read := range snap.TasksOf(owner) {
		if t := read.Value; t.Desired != api.DesiredRunning && t.Role == api.RoleMain {
			found = append(found, earlier{source{id: t.ID, pod: t.ContainerName(), node: t.Node}, false,
				t.Slot, t.Run, t.Release, t.EndedAt})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, keptTime)
	defer cancel()
	uid := snap.Object(owner).Value.Metadata.UID
	var mu sync.Mutex
	var wait recovery.Group
	for _, read := range snap.Nodes() {
		id := read.Value.ID
		wait.Go(func() {
			kept, err := s.keptOn(ctx, id, owner)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				away = append(away, err)
			}
			for _, log := range kept {
				if log.Owner == owner && log.OwnerUID == uid { // skip those of an earlier object with the same name
					found = append(found, earlier{source{id: log.Container, pod: log.Pod(), node: id}, true, log.Slot,
						log.Run, log.Release, log.KeptAt})
				}
			}
		})
	}
	wait.Wait()
	slices.SortFunc(away, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	slices.SortStableFunc(found, func(a, b earlier) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.id, b.id)) })
	return found, away
}

// keptOn asks a node for the logs that it keeps.
func (s *Server) keptOn(ctx context.Context, id string, owner api.Ref) (kept []node.KeptLog, err error) {
	err = recovery.Call(func() error {
		on, err := s.Nodes.Node(id)
		if err != nil {
			return err
		}
		if kept, err = on.KeptLogs(ctx, owner); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		return nil
	}, "node", id)
	return kept, err
}

// choosePrevious selects from the ended pods, given the newest first: the earlier attempts at the newest release. If
// there are none, it selects for each wanted pod the one that ran in its slot before, or else in the slot that it
// replaced. A pod that no longer exists selects itself. If none of the object's pods has a predecessor, the newest
// ended pod is selected.
func (l logsOf) choosePrevious(tasks []*api.Task, found []earlier) (out []earlier) {
	if l.run != "" {
		return slices.DeleteFunc(found, func(e earlier) bool { return e.run != l.run || !e.kept })
	}
	var pods []*api.Task
	for _, task := range tasks {
		if task.Role == api.RoleMain && (l.slot == task.Slot || l.slot == "" && task.Desired == api.DesiredRunning) {
			pods = append(pods, task)
		}
	}
	if l.slot == "" {
		out = attempts(pods, found)
	}
	if len(out) == 0 {
		out = before(pods, found)
	}
	if len(out) == 0 && l.slot != "" && len(pods) > 0 {
		out = attempts(pods, slices.DeleteFunc(slices.Clone(found), func(e earlier) bool {
			return !e.kept && e.at.After(pods[0].CreatedAt) // a later attempt
		}))
	}
	if len(out) > 0 || len(pods) > 0 && l.slot != "" {
		return out
	}
	if i := slices.IndexFunc(found, func(e earlier) bool { return e.kept && (l.slot == "" || e.slot == l.slot) }); i >= 0 {
		return found[i : i+1]
	}
	return nil
}

// attempts returns the newest ended pods of the newest release: one for each slot, and at most as many as run that
// release now, but at least one. No pods run a release that was undone.
func attempts(pods []*api.Task, found []earlier) (out []earlier) {
	newest, running := "", 0
	for _, e := range found {
		newest = newerRelease(newest, e.release)
	}
	for _, pod := range pods {
		if newer := newerRelease(newest, pod.Release); newer != newest {
			return nil
		}
	}
	for _, pod := range pods {
		if pod.Release == newest {
			running++
		}
	}
	for _, e := range found {
		known := slices.ContainsFunc(out, func(o earlier) bool { return o.slot == e.slot }) ||
			slices.ContainsFunc(pods, func(pod *api.Task) bool { return pod.ID == e.id })
		if newest != "" && e.release == newest && !known && len(out) < max(running, 1) {
			out = append(out, e)
		}
	}
	return out
}

// newerRelease returns the newer of two releases. Their numbers only grow.
func newerRelease(a, b string) string {
	if cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0 {
		return b
	}
	return a
}

// before returns the predecessor of each pod: in its slot, or else in the slot that it replaced.
func before(pods []*api.Task, found []earlier) (out []earlier) {
	for _, pod := range pods {
		in := func(slot string) bool {
			i := slices.IndexFunc(found, func(e earlier) bool { return slot != "" && e.slot == slot && e.id != pod.ID })
			if i >= 0 && !slices.ContainsFunc(out, func(e earlier) bool { return e.id == found[i].id }) {
				out = append(out, found[i])
			}
			return i >= 0
		}
		_ = in(pod.Slot) || in(pod.Replaces)
	}
	return out
}

// checkPrevious refuses options that can't be combined with earlier pods.
func (l logsOf) checkPrevious() error {
	if !l.previous || !l.opts.Follow && l.init == "" {
		return nil
	}
	return &api.Problem{Status: http.StatusBadRequest,
		Detail: "previous output has ended: it can't be followed, and what an init printed isn't kept",
		Next:   "leave out --follow and --init"}
}

// podOf returns the object and the slot of a pod. The pod must exist unless its previous output is wanted.
func (l logsOf) podOf(snap records.Snapshot, pod string) (api.Ref, string, error) {
	if owner, slot, found := ownerOfPod(snap, pod); found && l.previous {
		return owner, slot, nil
	}
	task, err := findTask(snap, pod)
	if err != nil {
		return api.Ref{}, "", err
	}
	return task.Owner(), task.Slot, nil
}

// noPrevious returns the error that no output of earlier pods is left.
func (l logsOf) noPrevious(causes []error) error {
	what := l.owner.String()
	if l.slot != "" {
		what = "the pod " + clip(l.owner.AppID()+"."+l.slot)
	}
	problem := &api.Problem{Status: http.StatusNotFound, Detail: "no output is kept from before " + what,
		Next: "`tend logs " + l.owner.Scope + "/" + l.owner.Name +
			"` shows its pods now; Tend keeps what a container it removes has printed"}
	var reasons []string
	for _, cause := range causes {
		if !errors.Is(cause, container.ErrNotFound) {
			reasons = append(reasons, cause.Error())
		}
	}
	if len(reasons) > 0 {
		problem.Status = http.StatusServiceUnavailable
		problem.Detail += ", as far as can be asked: " + strings.Join(reasons, "; ")
	}
	return problem
}
