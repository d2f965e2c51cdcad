//go:build simulate

package simulation

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"tend.dev/tend/internal/operator/simulation/cluster"
)

// jobs plays the controller of Jobs, and the kubelet.
type jobs struct {
	w *World
	// ends holds when the pod of a Job ends.
	ends map[types.UID]time.Time
}

func newJobs(w *World) *jobs { return &jobs{w: w, ends: map[types.UID]time.Time{}} }

// failing is the argument of a command that fails.
const failing = "fail"

// step lets each Job advance.
func (j *jobs) step() (acted bool) {
	for _, job := range j.w.cluster.List(cluster.Job) {
		if job.GetDeletionTimestamp() == nil {
			acted = j.job(job) || acted
		}
	}
	return acted
}

func (j *jobs) job(job *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	ends, begun := j.ends[job.GetUID()]
	switch {
	case len(conditions) > 0:
		return false
	case !begun:
		j.ends[job.GetUID()] = time.Now().Add(j.w.between(time.Second, 90*time.Second))
		j.pod(job)
		job.Object["status"] = map[string]any{"active": int64(1), "ready": int64(0), "startTime": now()}
	case time.Now().Before(ends):
		return true
	default:
		args, _, _ := unstructured.NestedSlice(job.Object, "spec", "template", "spec", "containers")
		container, _ := args[0].(map[string]any)
		list, _ := container["args"].([]any)
		bad := len(list) > 0 && list[0] == failing
		job.Object["status"] = ended(bad)
		phase := "Succeeded"
		if bad {
			phase = "Failed"
		}
		if pod := j.w.cluster.Get(cluster.Pod, job.GetNamespace(), job.GetName()+"-pod"); pod != nil {
			pod.Object["status"] = map[string]any{"phase": phase}
			_, _ = j.w.cluster.Update(pod, cluster.Write{By: "kubelet", Status: true})
		}
	}
	_, _ = j.w.cluster.Update(job, cluster.Write{By: "job-controller", Status: true})
	return true
}

// ended returns the status of a Job that has ended.
func ended(bad bool) map[string]any {
	kinds, reason, result := []string{"SuccessCriteriaMet", "Complete"}, "CompletionsReached", "succeeded"
	if bad {
		kinds, reason, result = []string{"FailureTarget", "Failed"}, "BackoffLimitExceeded", "failed"
	}
	status := map[string]any{result: int64(1), "startTime": now()}
	var conditions []any
	for _, kind := range kinds {
		conditions = append(conditions, map[string]any{
			"type": kind, "status": "True", "reason": reason, "message": "",
			"lastTransitionTime": now(), "lastProbeTime": now(),
		})
	}
	if !bad {
		status["completionTime"] = now()
	}
	status["conditions"] = conditions
	return status
}

// pod creates the pod of a Job.
func (j *jobs) pod(job *unstructured.Unstructured) {
	labels, _, _ := unstructured.NestedStringMap(job.Object, "spec", "template", "metadata", "labels")
	named := map[string]any{"batch.kubernetes.io/job-name": job.GetName(), "job-name": job.GetName()}
	for name, value := range labels {
		named[name] = value
	}
	name := job.GetName() + "-pod"
	j.w.create(cluster.Pod, job.GetNamespace(), name, map[string]any{
		"metadata": map[string]any{"labels": named, "ownerReferences": []any{map[string]any{
			"apiVersion": "batch/v1", "kind": "Job", "name": job.GetName(), "uid": string(job.GetUID()), "controller": true,
		}}},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "runner", "image": "busybox:1"}}},
	})
	if pod := j.w.cluster.Get(cluster.Pod, job.GetNamespace(), name); pod != nil {
		pod.Object["status"] = map[string]any{"phase": "Running"}
		_, _ = j.w.cluster.Update(pod, cluster.Write{By: "kubelet", Status: true})
	}
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }
