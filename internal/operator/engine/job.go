package engine

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// job creates a Job with one container.
type job struct{}

// jobTTL is the number of seconds for which a Job and its logs stay after the Job's end.
const jobTTL = 86400

// runnerUser is the user id of the container.
const runnerUser = 65532

type jobParameters struct {
	Image          string           `json:"image"`
	Command        []string         `json:"command"`
	Args           []string         `json:"args"`
	Env            []map[string]any `json:"env"`
	ServiceAccount string           `json:"serviceAccountName"`
	jobLimits
}

// jobLimits are the parameters shared by all engines that create a Job.
type jobLimits struct {
	BackoffLimit          *int64 `json:"backoffLimit"`
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds"`
	TimeoutSeconds        *int64 `json:"timeoutSeconds"`
	TTL                   *int64 `json:"ttlSecondsAfterFinished"`
}

// apply sets the limits of a Job. The operation's timeout is the Job's deadline, unless the parameters set another one.
func (l jobLimits) apply(spec map[string]any, limit time.Duration) {
	setPointer(spec, "backoffLimit", l.BackoffLimit)
	switch {
	case l.ActiveDeadlineSeconds != nil:
		spec["activeDeadlineSeconds"] = *l.ActiveDeadlineSeconds
	case l.TimeoutSeconds == nil && spec["activeDeadlineSeconds"] != nil: // keeps the chart's deadline
	case limit > 0:
		spec["activeDeadlineSeconds"] = int64(limit / time.Second)
	}
	spec["ttlSecondsAfterFinished"] = int64(jobTTL)
	setPointer(spec, "ttlSecondsAfterFinished", l.TTL)
}

func (job) Subject(req Request) (Subject, error) { return owned(req, KindJob, ""), nil }

func (j job) Object(req Request) (*unstructured.Unstructured, error) {
	params, err := decode[jobParameters](req)
	if err != nil {
		return nil, err
	}
	subject, err := j.Subject(req)
	if err != nil {
		return nil, err
	}
	container := map[string]any{
		"name": "runner", "image": params.Image,
		"securityContext": map[string]any{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": map[string]any{"drop": []any{"ALL"}},
		},
	}
	setList(container, "command", params.Command)
	setList(container, "args", params.Args)
	if len(params.Env) > 0 {
		env := make([]any, len(params.Env))
		for i, variable := range params.Env {
			env[i] = variable
		}
		container["env"] = env
	}
	template := map[string]any{"spec": map[string]any{
		"restartPolicy":      "Never",
		"serviceAccountName": cmp.Or(params.ServiceAccount, identity.RunnerServiceAccount),
		"securityContext": map[string]any{
			"runAsNonRoot": true, "runAsUser": int64(runnerUser),
			"seccompProfile": map[string]any{"type": "RuntimeDefault"},
		},
		"containers": []any{container},
	}}
	labelPods(template, labels(req))
	spec := map[string]any{"template": template}
	params.apply(spec, Timeout(req.Operation))
	return object(req, subject, spec), nil
}

// labelPods adds labels to a pod template.
func labelPods(template map[string]any, more map[string]string) {
	metadata, ok := template["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		template["metadata"] = metadata
	}
	addLabels(metadata, more)
}

func (job) Observe(req Request, observed *unstructured.Unstructured) Progress {
	return jobProgress(req, observed, opsv1alpha1.RunningJobPodActive, opsv1alpha1.SucceededJob, opsv1alpha1.FailedEngine)
}

// jobProgress reads the status of a Job. The conditions Complete and Failed are final: they appear after all pods have
// ended. broken is the reason of failures that have no reason of their own.
func jobProgress(req Request, observed *unstructured.Unstructured, active, complete, broken string) Progress {
	return jobState(observed, lastPod(req.Pods), active, complete, broken).
		with("jobName", observed.GetName()).
		with("succeeded", count(observed, "status", "succeeded")).
		with("completionTime", text(observed, "status", "completionTime"))
}

func jobState(observed *unstructured.Unstructured, pod Pod, active, complete, broken string) Progress {
	if done := conditionOf(observed, "Complete"); done.Status == "True" {
		return succeeded(complete, cmp.Or(done.Message, "the Job has completed"))
	}
	if done := conditionOf(observed, "Failed"); done.Status == "True" {
		return jobFailure(observed, done, pod, broken)
	}
	if held := conditionOf(observed, "Suspended"); held.Status == "True" {
		return Progress{State: Suspended, Reason: opsv1alpha1.RunningPending, Message: cmp.Or(held.Message, "the Job is suspended")}
	}
	now, ended := number(observed, "status", "active"), number(observed, "status", "failed")+number(observed, "status", "succeeded")
	switch {
	case now > 0 && number(observed, "status", "ready") > 0:
		return running(active, "the Job's pod is active")
	case now > 0:
		return running(active, cmp.Or(pod.String(), "the Job's pod is active, and is not ready yet")).watched()
	case ended > 0 || conditionOf(observed, "FailureTarget").Status == "True":
		return running(opsv1alpha1.RunningEngineStarted, joined("no pod of the Job is active now", pod.String())).watched()
	}
	return pending(fmt.Sprintf("no pod of the Job exists yet; why: kubectl describe job %s -n %s", observed.GetName(), observed.GetNamespace()))
}

// jobFailure returns why a Job failed. Kubernetes only reports which limit was reached; the last pod shows what went
// wrong.
func jobFailure(observed *unstructured.Unstructured, done condition, pod Pod, broken string) Progress {
	reason, message := broken, cmp.Or(done.Message, done.Reason, "the Job has failed")
	switch done.Reason {
	case "BackoffLimitExceeded":
		reason = cmp.Or(hookReason(broken), opsv1alpha1.FailedJobBackoffExceeded)
		if pod.Name != "" {
			message = fmt.Sprintf("%s; pods that failed: %d. Its log: kubectl logs %s -n %s",
				pod, number(observed, "status", "failed"), pod.Name, observed.GetNamespace())
		}
	case "DeadlineExceeded":
		reason = opsv1alpha1.FailedJobDeadline
		message += suffix(pod)
	default:
		message += suffix(pod)
	}
	return failed(reason, message).with("exitCode", pod.code())
}

// suffix returns a pod's fault as the end of a message.
func suffix(pod Pod) string {
	if pod.String() == "" {
		return ""
	}
	return "; " + pod.String()
}

// code returns the exit code as an output; empty if the container did not exit.
func (p Pod) code() string {
	if !p.Exited {
		return ""
	}
	return fmt.Sprint(p.ExitCode)
}

// hookReason returns the reason of a hook's Job; empty for another Job.
func hookReason(broken string) string {
	if broken == opsv1alpha1.FailedHelmHookJob {
		return broken
	}
	return ""
}
