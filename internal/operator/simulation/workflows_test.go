//go:build simulate

package simulation

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"tend.dev/tend/internal/operator/simulation/cluster"
)

// book is the WorkflowTemplate of every namespace.
const book = "book"

// runRunbook runs a workflow; about each third fails, and some wait for an approval.
func runRunbook(w *World, random *rand.Rand) {
	steps, more := "work", ""
	if random.IntN(3) == 0 {
		steps = failing
	}
	if random.IntN(3) == 0 {
		more = guarded
	}
	w.operation(pick(random, applications), "Runbook", "workflow",
		`{"workflowTemplate":"`+book+`","workflowTemplateParameters":{"steps":"`+steps+`"}}`+more)
}

func deleteWorkflow(w *World, random *rand.Rand) { w.removes(random, cluster.Workflow) }

// workflows plays Argo Workflows. Its kinds have no status subresource.
type workflows struct {
	w *World
	// ends holds when a Workflow ends.
	ends map[types.UID]time.Time
}

func newWorkflows(w *World) *workflows { return &workflows{w: w, ends: map[types.UID]time.Time{}} }

// step lets each Workflow advance.
func (f *workflows) step() (acted bool) {
	for _, live := range f.w.cluster.List(cluster.Workflow) {
		if live.GetDeletionTimestamp() == nil {
			acted = f.workflow(live) || acted
		}
	}
	return acted
}

func (f *workflows) workflow(live *unstructured.Unstructured) bool {
	phase := text(live, "status", "phase")
	ends, begun := f.ends[live.GetUID()]
	switch {
	case isEnd(phase):
		return false
	case !begun:
		f.ends[live.GetUID()] = time.Now().Add(f.w.between(time.Second, 90*time.Second))
		phase = "Running"
	case time.Now().Before(ends):
		return true
	default:
		phase = "Succeeded"
		parameters, _, _ := unstructured.NestedSlice(live.Object, "spec", "arguments", "parameters")
		for _, one := range parameters {
			if values, _ := one.(map[string]any); values["name"] == "steps" && values["value"] == failing {
				phase = "Failed"
			}
		}
	}
	live.Object["status"] = map[string]any{"phase": phase, "startedAt": now()}
	_, _ = f.w.cluster.Update(live, cluster.Write{By: "argo"})
	return true
}

func isEnd(phase string) bool { return phase == "Succeeded" || phase == "Failed" }
