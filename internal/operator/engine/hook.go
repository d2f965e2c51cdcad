package engine

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// hookJob creates the Job of a hook that the chart of the target's release declares. It sets the Job's name, labels,
// owner and limits; everything else comes from the chart.
type hookJob struct{}

// annotationHook is Helm's annotation of a hook.
const annotationHook = "helm.sh/hook"

type hookParameters struct {
	HookName string `json:"hookName"`
	jobLimits
}

func (hookJob) Subject(req Request) (Subject, error) { return owned(req, KindJob, ""), nil }

func (h hookJob) Object(req Request) (*unstructured.Unstructured, error) {
	params, err := decode[hookParameters](req)
	if err != nil {
		return nil, err
	}
	subject, err := h.Subject(req)
	if err != nil {
		return nil, err
	}
	hook, err := find(req, params.HookName)
	if err != nil {
		return nil, err
	}
	spec, err := hook.jobSpec()
	if err != nil {
		return nil, err
	}
	more := labels(req)
	more[identity.LabelHookName] = params.HookName
	template, _ := spec["template"].(map[string]any)
	labelPods(template, more)
	params.apply(spec, Timeout(req.Operation))
	made := object(req, subject, spec)
	made.SetLabels(more)
	made.SetAnnotations(map[string]string{annotationHook: params.HookName})
	return made, nil
}

// find returns the hook with a name: the name of its Job, or of one of its events if only one Job has that event.
func find(req Request, name string) (Hook, error) {
	if req.Release == nil {
		return Hook{}, &RefusalError{Reason: opsv1alpha1.AcceptedHookRequiresRelease, Message: fmt.Sprintf(
			"the target %s has no deployed release: its hooks are known once Flux has installed it", req.Operation.Spec.TargetRef.Name)}
	}
	var jobs, byEvent []Hook
	for _, hook := range req.Release.Hooks {
		if hook.Kind != KindJob.Kind {
			continue
		}
		if hook.Name == name {
			return hook, nil
		}
		jobs = append(jobs, hook)
		if slices.Contains(hook.Events, name) {
			byEvent = append(byEvent, hook)
		}
	}
	if len(byEvent) == 1 {
		return byEvent[0], nil
	}
	names := make([]string, len(jobs))
	for i, hook := range jobs {
		names[i] = hook.Name
	}
	slices.Sort(names)
	return Hook{}, &RefusalError{Reason: opsv1alpha1.AcceptedHookNotFound, Message: fmt.Sprintf(
		"the chart %s %s of %s declares no single Job hook %q: it has %q",
		req.Release.Chart, req.Release.ChartVersion, req.Operation.Spec.TargetRef.Name, name, names)}
}

// jobSpec returns the spec of the hook's Job, without fields set by the API server or an earlier Job.
func (h Hook) jobSpec() (map[string]any, error) {
	var declared map[string]any
	if err := yaml.Unmarshal([]byte(h.Manifest), &declared); err != nil {
		return nil, &RefusalError{Reason: opsv1alpha1.AcceptedHookNotFound, Message: fmt.Sprintf("the manifest of the hook %s: %v", h.Name, err)}
	}
	spec, _ := declared["spec"].(map[string]any)
	if template, _ := spec["template"].(map[string]any); template == nil {
		return nil, &RefusalError{Reason: opsv1alpha1.AcceptedHookNotFound, Message: fmt.Sprintf("the manifest of the hook %s has no pod template", h.Name)}
	}
	delete(spec, "selector")
	delete(spec, "manualSelector")
	return integers(spec).(map[string]any), nil
}

// integers turns whole numbers into int64, as Kubernetes' own decoder does: the YAML decoder makes all of them float64.
func integers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = integers(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = integers(inner)
		}
	case float64:
		if whole := int64(v); float64(whole) == v {
			return whole
		}
	}
	return value
}

func (hookJob) Observe(req Request, observed *unstructured.Unstructured) Progress {
	return jobProgress(
		req, observed, opsv1alpha1.RunningHelmHookJobActive, opsv1alpha1.SucceededHelmHookJob, opsv1alpha1.FailedHelmHookJob,
	)
}
