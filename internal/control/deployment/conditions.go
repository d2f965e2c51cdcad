package deployment

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// conditions say in three statements how a deployment is: Ready, Progressing, Degraded.
func (o observed) conditions(a assessment) []api.Condition {
	progressing, degraded := o.progress(a), o.trouble(a)
	return []api.Condition{o.readiness(a, progressing, degraded), progressing, degraded}
}

func (o observed) readiness(a assessment, progressing, degraded api.Condition) api.Condition {
	c := api.Condition{Type: api.ConditionReady, Status: api.ConditionFalse}
	wanted := max(o.spec.ReplicaCount()-a.plan.Counts.Frozen, 0)
	ready := a.plan.Counts.Ready
	switch {
	case a.known && a.plan.Phase == api.RolloutComplete && degraded.Status == api.ConditionFalse && !o.imageUnknown(a):
		c.Status, c.Reason = api.ConditionTrue, "Converged"
		c.Message = fmt.Sprintf("%d of %d replicas run %s", ready, wanted, a.target.release.ID)
		if a.plan.Counts.Frozen > 0 {
			c.Reason, c.Message = "Frozen", fmt.Sprintf("%s; %d stopped by an operator (`tend start` brings them back)", c.Message, a.plan.Counts.Frozen)
		}
	case degraded.Status == api.ConditionTrue:
		c.Reason, c.Message = degraded.Reason, fmt.Sprintf("%d of %d replicas ready: %s", ready, wanted, degraded.Message)
	default:
		c.Reason, c.Message = progressing.Reason, fmt.Sprintf("%d of %d replicas ready: %s", ready, wanted, progressing.Message)
	}
	return c
}

func (o observed) progress(a assessment) api.Condition {
	c := api.Condition{Type: api.ConditionProgressing, Status: api.ConditionTrue, Reason: a.plan.Reason, Message: a.plan.Message}
	switch {
	case o.imageUnknown(a):
		c.Reason, c.Message = "ResolvingImage", o.imageProgress()
		if o.image().State == api.ImageFailed {
			c.Status = api.ConditionFalse
		}
	case a.plan.Phase == api.RolloutComplete:
		c.Status, c.Reason = api.ConditionFalse, "Complete"
	case a.plan.Phase == api.RolloutPaused:
		c.Status, c.Reason = api.ConditionFalse, "Paused"
		c.Message = "no further slot is touched until the failed one is good, or a newer manifest is applied: " + a.plan.Message
	}
	return c
}

// imageUnknown says whether the rollout of what the spec asks for waits for its image.
func (o observed) imageUnknown(a assessment) bool {
	if o.stamp(api.StampRollback) != "" || o.object.Value.Metadata.Deleting() {
		return false
	}
	return !a.known || o.image().State != api.ImagePresent && a.target.release.Image != o.spec.Image
}

func (o observed) imageProgress() string {
	image := o.image()
	switch {
	case image.State == api.ImageFailed:
		return image.Message
	case image.State == api.ImagePulling && image.Progress >= 0:
		return fmt.Sprintf("pulling %s on node %s: %d%%", o.spec.Image, image.Node, image.Progress)
	case image.State == api.ImagePulling:
		return fmt.Sprintf("pulling %s on node %s", o.spec.Image, image.Node)
	}
	if message := o.nodesDown(); message != "" {
		return message
	}
	return "waiting for a node to look for image " + o.spec.Image
}

// trouble says what a person should look at.
func (o observed) trouble(a assessment) api.Condition {
	c := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionTrue}
	image := o.image()
	switch {
	case o.nodesDown() != "":
		c.Reason, c.Message = "EngineUnavailable", o.nodesDown()
	case image.State == api.ImageFailed && o.imageUnknown(a):
		c.Reason, c.Message = image.Reason, image.Message
	case a.target.turned != nil:
		c.Reason, c.Message = "RolledBack", rolledBackMessage(a.target)
	case a.plan.Phase == api.RolloutPaused || a.plan.Counts.Failing > 0:
		c.Reason, c.Message = a.plan.Reason, a.plan.Message+o.lastLog(a)
	case a.plan.Reason == "NoNode":
		c.Reason, c.Message = "NoNode", a.plan.Message
	default:
		c.Status, c.Reason = api.ConditionFalse, "AsExpected"
	}
	return c
}

// nodesDown speaks where no node's engine answers.
func (o observed) nodesDown() string {
	message := ""
	for _, node := range o.nodes {
		if node.Value.Ready {
			return ""
		}
		message = fmt.Sprintf("node %s: %s", node.Value.ID, node.Value.Message)
	}
	return message
}

// lastLog is the end of the output of the first failing container.
func (o observed) lastLog(a assessment) string {
	for _, t := range o.tasks {
		if t.status != nil && len(t.status.LastLog) > 0 && strings.Contains(a.plan.Message, "slot "+t.desired.Value.Slot+" ") {
			return "\n" + strings.Join(t.status.LastLog, "\n")
		}
	}
	return ""
}
