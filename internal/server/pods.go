package server

import (
	"context"
	"net/http"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/records"
)

type podsQuery struct {
	TargetQuery
	Node string `query:"node"`
}

func (q podsQuery) filter(ctx context.Context) (podFilter, error) {
	filter := podFilter{scope: q.Scope, name: q.Name, node: q.Node, visible: visible(ctx)}
	if q.Kind == "" {
		return filter, nil
	}
	var err error
	filter.kind, err = kindOf(q.Kind)
	if filter.kind == api.KindApp {
		filter.kind = api.KindDeployment // which runs the app's pods
	}
	return filter, err
}

func (s *Server) pods(ctx context.Context, in *podsQuery) (api.ListResult[api.Pod], error) {
	filter, err := in.filter(ctx)
	if err != nil {
		return api.ListResult[api.Pod]{}, err
	}
	snap, err := s.snapshot()
	if err != nil {
		return api.ListResult[api.Pod]{}, err
	}
	return api.ListResult[api.Pod]{Items: podsOf(snap, filter), Revision: snap.Revision()}, nil
}

type PodPath struct {
	Pod string `path:"pod"`
}

func (s *Server) pod(_ context.Context, in *PodPath) (api.Pod, error) {
	snap, err := s.snapshot()
	if err != nil {
		return api.Pod{}, err
	}
	task, err := findTask(snap, in.Pod)
	if err != nil {
		return api.Pod{}, err
	}
	return podOf(snap, task, frozenSlots(snap, task.Owner())[task.Slot]), nil
}

// podReady answers from memory only, so that a load balancer may ask as often as it wants.
func (s *Server) podReady(w http.ResponseWriter, r *http.Request) {
	err := queryOf(r).done()
	var pod api.Pod
	if err == nil {
		pod, err = s.pod(r.Context(), &PodPath{Pod: r.PathValue("pod")})
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if pod.Ready && !s.observed(pod) {
		pod.Ready = false
		if pod.Reason == "" {
			pod.Reason, pod.Message = api.ReasonNotObserved,
				"the server has not observed the container since it started; it does as soon as the container engine answers"
		}
	}
	status := http.StatusOK
	if !pod.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, api.PodReadiness{
		Pod: pod.Name, Ready: pod.Ready, State: pod.State, Reason: pod.Reason, Message: pod.Message, Probes: pod.Probes,
	})
}

// observed reports whether the pod's agent has observed it since it started.
func (s *Server) observed(pod api.Pod) bool {
	on, err := s.Nodes.Node(pod.Node)
	return err == nil && on.Observed(pod.Task)
}

type stopPodQuery struct {
	PodPath
	Freeze bool `query:"freeze"`
}

func (s *Server) stopPod(ctx context.Context, in *stopPodQuery) (api.StopResult, error) {
	snap, err := s.snapshot()
	if err != nil {
		return api.StopResult{}, err
	}
	task, err := findTask(snap, in.Pod)
	if err != nil {
		return api.StopResult{}, err
	}
	notePod(ctx, task.Owner())
	switch {
	case in.Freeze && task.Kind.TimeBoxed():
		return s.endLab(ctx, verbs.TargetOf(task.Owner()))
	case in.Freeze && task.Kind.HasRuns():
		return s.stopRuns(ctx, verbs.TargetOf(task.Owner()), []string{task.Run})
	case in.Freeze && task.Role == api.RoleMain: // a stopped command of a release has ended for good anyway
		return s.freeze(ctx, verbs.TargetOf(task.Owner()), []string{task.Slot})
	}
	return s.stop(ctx, task.Owner(), []*api.Task{task})
}

type stopping struct {
	Freeze bool `query:"freeze"`
}

var (
	_ = declare(verb.Verb{
		Name: "stop", Summary: "Stop all pods of an object; with freeze they stay stopped", Rule: access.Deployers("stop"),
	}, (*Server).stopObject)
	_ = declare(verb.Verb{
		Name: "start", Summary: "Let all frozen pods of an object run again", Rule: access.Deployers("start"),
	}, func(s *Server, ctx context.Context, target verbs.Target, _ struct{}) (api.StopResult, error) {
		return s.thaw(ctx, target, nil)
	})
)

func (s *Server) stopObject(ctx context.Context, target verbs.Target, in stopping) (api.StopResult, error) {
	snap, err := s.snapshot()
	if err != nil {
		return api.StopResult{}, err
	}
	ref, err := target.Resolve(snap)
	if err != nil {
		return api.StopResult{}, err
	}
	switch {
	case in.Freeze && ref.Kind.TimeBoxed():
		return s.endLab(ctx, verbs.TargetOf(ref))
	case in.Freeze && ref.Kind.HasRuns():
		return s.stopRuns(ctx, target, nil)
	case in.Freeze:
		return s.freeze(ctx, target, nil)
	}
	var tasks []*api.Task
	for _, task := range snap.TasksOf(ref) {
		if status := snap.TaskStatus(task.Value.ID).Value; ref.Kind.HasRuns() && status != nil && status.State.Terminal() {
			continue // the container is kept only for its output
		}
		if task.Value.Desired == api.DesiredRunning && task.Value.Role == api.RoleMain {
			// a command of a release is allowed to end
			tasks = append(tasks, task.Value)
		}
	}
	return s.stop(ctx, ref, tasks)
}

func (s *Server) freeze(ctx context.Context, target verbs.Target, slots []string) (api.StopResult, error) {
	result, err := s.Verbs.Freeze(ctx, target, slots, actorOf(ctx))
	s.settle(ctx, result.Revision)
	return withPods(result), err
}

// stopRuns ends the running runs of a job, or the named one.
func (s *Server) stopRuns(ctx context.Context, target verbs.Target, ids []string) (api.StopResult, error) {
	result, err := s.Verbs.StopRuns(ctx, target, ids, actorOf(ctx))
	s.settle(ctx, result.Revision)
	return withPods(result), err
}

// stop stops containers concurrently, without marking them to stay stopped.
func (s *Server) stop(ctx context.Context, ref api.Ref, tasks []*api.Task) (api.StopResult, error) {
	result := api.StopResult{Object: ref, Pods: []string{}, Changed: len(tasks) > 0}
	errs := make(chan error, len(tasks))
	for _, task := range tasks {
		if task.Desired != api.DesiredRunning {
			return result, notLive(task.ContainerName())
		}
		result.Pods = append(result.Pods, task.ContainerName())
	}
	for _, task := range tasks {
		recovery.Go(func() { errs <- recovery.Call(func() error { return s.stopTask(ctx, task) }) })
	}
	var failure error
	for range tasks {
		if err := <-errs; err != nil {
			failure = err
		}
	}
	return result, failure
}

func (s *Server) startPod(ctx context.Context, in *PodPath) (api.StopResult, error) {
	snap, err := s.snapshot()
	if err != nil {
		return api.StopResult{}, err
	}
	owner, slot, err := slotOf(snap, in.Pod)
	if err != nil {
		return api.StopResult{}, err
	}
	notePod(ctx, owner)
	return s.thaw(ctx, verbs.TargetOf(owner), []string{slot})
}

func (s *Server) thaw(ctx context.Context, target verbs.Target, slots []string) (api.StopResult, error) {
	result, err := s.Verbs.Thaw(ctx, target, slots, actorOf(ctx))
	s.settle(ctx, result.Revision)
	return withPods(result), err
}

// slotOf finds the slot of a pod's name, also if only its frozen mark is left.
func slotOf(snap records.Snapshot, pod string) (api.Ref, string, error) {
	task, err := findTask(snap, pod)
	if err == nil {
		return task.Owner(), task.Slot, nil
	}
	app, slot, _ := cutLast(pod, ".")
	if owner, ok := snap.Get(records.NamesPrefix + app); ok {
		if ref, _ := owner.Value.(*api.Ref); ref != nil && frozenSlots(snap, *ref)[slot] {
			return *ref, slot, nil
		}
	}
	return api.Ref{}, "", err
}

func withPods(result api.StopResult) api.StopResult {
	result.Pods = slices.Concat([]string{}, result.Pods)
	return result
}
