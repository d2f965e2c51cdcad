package health

import (
	"cmp"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// maxMessage is the most bytes of a message.
const maxMessage = 256

// Health is the health of an object, and a sentence about it.
type Health struct {
	State   appsv1alpha1.Health
	Message string
}

func healthy(message string) Health { return Health{appsv1alpha1.HealthHealthy, message} }

func progressing(message string) Health {
	return Health{appsv1alpha1.HealthProgressing, bounded(message)}
}

func degraded(message string) Health { return Health{appsv1alpha1.HealthDegraded, bounded(message)} }

func missing(message string) Health { return Health{appsv1alpha1.HealthMissing, bounded(message)} }

func unknown(message string) Health { return Health{appsv1alpha1.HealthUnknown, bounded(message)} }

// Of returns the health of an object as the cluster has it; nil is one that doesn't exist. What a status says of an
// older generation doesn't count.
//
// It judges by kstatus, with which Flux waits for a release. It differs where kstatus takes what still runs, or failed,
// for the end: see refinements.
func Of(live *unstructured.Unstructured) Health {
	if live == nil {
		return missing("it does not exist")
	}
	if live.GetDeletionTimestamp() != nil {
		return progressing("it is being deleted")
	}
	kind := live.GroupVersionKind().GroupKind()
	if kind == kindPod {
		return ofPodObject(live)
	}
	result, err := status.Compute(live)
	if err != nil {
		return unknown("its status can't be read: " + err.Error())
	}
	if lags(live) {
		return progressing(result.Message)
	}
	if refine := refinements[kind]; refine != nil {
		if h, known := refine(live); known {
			return h
		}
	} else if why := abnormal(live); why != "" {
		return degraded(why)
	}
	switch result.Status {
	case status.CurrentStatus:
		return healthy(result.Message)
	case status.InProgressStatus, status.TerminatingStatus:
		return progressing(cmp.Or(result.Message, "it is not ready yet"))
	case status.FailedStatus:
		return degraded(cmp.Or(causeOf(result), result.Message, "it failed"))
	case status.NotFoundStatus, status.UnknownStatus:
	}
	return unknown(result.Message)
}

// causeOf returns the message of a failure's condition: that of the result itself may be no more than its name.
func causeOf(result *status.Result) string {
	for _, c := range result.Conditions {
		if c.Type == status.ConditionStalled {
			return c.Message
		}
	}
	return ""
}

// lags reports whether the status of an object is about an older generation.
func lags(live *unstructured.Unstructured) bool {
	observed, found, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	return found && observed < live.GetGeneration()
}

// abnormal returns what a condition of an object reports as failed, or an empty text.
func abnormal(live *unstructured.Unstructured) string {
	conditions, err := status.GetObjectWithConditions(live.Object)
	if err != nil {
		return ""
	}
	for _, c := range conditions.Status.Conditions {
		if (c.Type == "Degraded" || c.Type == "Failed") && c.Status == "True" {
			return cmp.Or(c.Message, c.Reason, c.Type)
		}
	}
	return ""
}

// severity orders the states by how much they matter.
var severity = map[appsv1alpha1.Health]int{
	appsv1alpha1.HealthDegraded: 5, appsv1alpha1.HealthMissing: 4, appsv1alpha1.HealthProgressing: 3,
	appsv1alpha1.HealthUnknown: 2, appsv1alpha1.HealthHealthy: 1,
}

// Worst returns the state that matters most.
func Worst(states ...appsv1alpha1.Health) (worst appsv1alpha1.Health) {
	for _, state := range states {
		if severity[state] > severity[worst] {
			worst = state
		}
	}
	return worst
}

// bounded returns a text as one line of bounded size.
func bounded(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage-len("…")], "") + "…"
}

// Kinds that are treated specially.
var (
	kindPod         = schema.GroupKind{Kind: "Pod"}
	kindService     = schema.GroupKind{Kind: "Service"}
	kindClaim       = schema.GroupKind{Kind: "PersistentVolumeClaim"}
	kindDeployment  = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	kindStatefulSet = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	kindDaemonSet   = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}
	kindReplicaSet  = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	kindJob         = schema.GroupKind{Group: "batch", Kind: "Job"}
	kindIngress     = schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}
)
