package engine

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// job creates a Job with one container.
type job struct{}

// jobTTL is how long the Job and its logs stay after its end, in seconds.
const jobTTL = 86400

// runnerUser is the user that the container runs as.
const runnerUser = 65532

type jobParameters struct {
	Image          string           `json:"image"`
	Command        []string         `json:"command"`
	Args           []string         `json:"args"`
	Env            []map[string]any `json:"env"`
	ServiceAccount string           `json:"serviceAccountName"`
	jobLimits
}

// jobLimits are the parameters of every engine that creates a Job.
type jobLimits struct {
	BackoffLimit          *int64 `json:"backoffLimit"`
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds"`
	TimeoutSeconds        *int64 `json:"timeoutSeconds"`
	TTL                   *int64 `json:"ttlSecondsAfterFinished"`
}

// apply sets the limits of a Job. A timeout is the Job's deadline, unless it has one of its own.
func (l jobLimits) apply(spec map[string]any) {
	setPointer(spec, "backoffLimit", l.BackoffLimit)
	setPointer(spec, "activeDeadlineSeconds", cmp.Or(l.ActiveDeadlineSeconds, l.TimeoutSeconds))
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
	params.apply(spec)
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

func (job) Observe(_ Request, observed *unstructured.Unstructured) Progress {
	return jobProgress(observed, opsv1alpha1.RunningJobPodActive, opsv1alpha1.SucceededJob, opsv1alpha1.FailedEngine)
}

// jobProgress reads the status of a Job. Of its conditions, Complete and Failed are final: they come when all its pods
// have ended. The reason broken is that of failures which have none of their own.
func jobProgress(observed *unstructured.Unstructured, active, complete, broken string) Progress {
	return jobState(observed, active, complete, broken).
		with("jobName", observed.GetName()).
		with("succeeded", count(observed, "status", "succeeded")).
		with("completionTime", text(observed, "status", "completionTime"))
}

func jobState(observed *unstructured.Unstructured, active, complete, broken string) Progress {
	if done := conditionOf(observed, "Complete"); done.Status == "True" {
		return succeeded(complete, cmp.Or(done.Message, "the Job has completed"))
	}
	if done := conditionOf(observed, "Failed"); done.Status == "True" {
		reason := broken
		switch done.Reason {
		case "BackoffLimitExceeded":
			reason = cmp.Or(hookReason(broken), opsv1alpha1.FailedJobBackoffExceeded)
		case "DeadlineExceeded":
			reason = opsv1alpha1.FailedJobDeadline
		}
		return failed(reason, cmp.Or(done.Message, done.Reason, "the Job has failed"))
	}
	if held := conditionOf(observed, "Suspended"); held.Status == "True" {
		return Progress{State: Suspended, Reason: active, Message: cmp.Or(held.Message, "the Job is suspended")}
	}
	if text(observed, "status", "startTime") == "" {
		return pending("the Job has not started")
	}
	return running(active, "the Job's pod is active")
}

// hookReason returns the reason of a hook's Job, or "" for that of another Job.
func hookReason(broken string) string {
	if broken == opsv1alpha1.FailedHelmHookJob {
		return broken
	}
	return ""
}
