package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// workflow creates a Workflow of Argo Workflows from a WorkflowTemplate.
type workflow struct{}

type workflowParameters struct {
	WorkflowTemplate   string            `json:"workflowTemplate"`
	Template           string            `json:"template"` // the old name of workflowTemplate
	TemplateParameters map[string]string `json:"workflowTemplateParameters"`
	ServiceAccount     string            `json:"serviceAccountName"`
	TargetChartVersion string            `json:"targetChartVersion"`
	SnapshotClassName  string            `json:"snapshotClassName"`
	FailureAction      string            `json:"failureAction"`
}

func (workflow) Subject(req Request) (Subject, error) { return owned(req, KindWorkflow, ""), nil }

func (w workflow) Object(req Request) (*unstructured.Unstructured, error) {
	params, err := decode[workflowParameters](req)
	if err != nil {
		return nil, err
	}
	subject, err := w.Subject(req)
	if err != nil {
		return nil, err
	}
	spec := map[string]any{
		"workflowTemplateRef": map[string]any{"name": cmp.Or(params.WorkflowTemplate, params.Template)},
		"serviceAccountName":  cmp.Or(params.ServiceAccount, identity.RunnerServiceAccount),
		"arguments":           map[string]any{"parameters": params.arguments(req)},
		"podMetadata":         map[string]any{"labels": anyMap(labels(req))},
	}
	if limit := Timeout(req.Operation); limit > 0 {
		spec["activeDeadlineSeconds"] = int64(limit / time.Second)
	}
	return object(req, subject, spec), nil
}

// arguments returns the workflow's parameters, sorted by name: the target, the operation's other parameters, and those
// of the template, which override the others.
func (p workflowParameters) arguments(req Request) []any {
	values := map[string]string{
		"targetName":         req.Operation.Spec.TargetRef.Name,
		"targetNamespace":    req.Operation.Namespace,
		"targetChartVersion": p.TargetChartVersion,
		"snapshotClassName":  p.SnapshotClassName,
		"failureAction":      p.FailureAction,
	}
	maps.DeleteFunc(values, func(_, value string) bool { return value == "" })
	maps.Copy(values, p.TemplateParameters)
	var list []any
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, map[string]any{"name": name, "value": values[name]})
	}
	return list
}

func (w workflow) Observe(_ Request, observed *unstructured.Unstructured) Progress {
	return w.progress(observed).with("workflowName", observed.GetName()).with("runId", string(observed.GetUID()))
}

func (workflow) progress(observed *unstructured.Unstructured) Progress {
	message := text(observed, "status", "message")
	switch phase := text(observed, "status", "phase"); phase {
	case "Succeeded":
		return succeeded(opsv1alpha1.SucceededWorkflow, cmp.Or(message, "the Workflow has succeeded"))
	case "Error":
		return failed(opsv1alpha1.FailedWorkflowError, cmp.Or(message, "the Workflow ended with an error"))
	case "Failed", "Terminated", "Skipped":
		return failed(opsv1alpha1.FailedWorkflow, cmp.Or(message, "the Workflow ended: "+phase))
	}
	if held, _, _ := unstructured.NestedBool(observed.Object, "spec", "suspend"); held {
		return Progress{State: Suspended, Reason: opsv1alpha1.RunningWorkflowSuspended, Message: "the Workflow is suspended"}
	}
	if text(observed, "status", "phase") != "Running" {
		return pending("Argo Workflows has not begun: does its controller run?")
	}
	active, held := activeNodes(observed)
	switch {
	case held != "" && active == "": // a step waits until a person resumes it, and nothing else runs
		return Progress{State: Suspended, Reason: opsv1alpha1.RunningWorkflowSuspended, Message: "waits in the step " + held}
	case active != "":
		return running(opsv1alpha1.RunningWorkflowInProgress, "runs the step "+active)
	}
	return running(opsv1alpha1.RunningWorkflowInProgress, cmp.Or(message, "the Workflow is running"))
}

// activeNodes returns the names of the first running pod and of the first suspended step, sorted by name.
func activeNodes(observed *unstructured.Unstructured) (active, held string) {
	nodes, _, _ := unstructured.NestedMap(observed.Object, "status", "nodes")
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		node, _ := nodes[id].(map[string]any)
		if node["phase"] != "Running" {
			continue
		}
		name, _ := node["displayName"].(string)
		switch node["type"] {
		case "Pod":
			active = cmp.Or(active, name)
		case "Suspend":
			held = cmp.Or(held, name)
		}
	}
	return active, held
}
