package health

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// refinements judge kinds more exactly than kstatus does. known is false where its judgement stands.
var refinements = map[schema.GroupKind]func(live *unstructured.Unstructured) (h Health, known bool){
	kindJob: ofJob, kindClaim: ofClaim, kindService: ofService, kindIngress: ofIngress, kindStatefulSet: ofStatefulSet,
}

// as converts an object to a Go type. An object that can't be converted has no more than kstatus finds.
func as[T any](live *unstructured.Unstructured) (*T, bool) {
	typed := new(T)
	return typed, runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, typed) == nil
}

// ofJob: a Job that runs is under way, where kstatus calls it current as soon as it has started. Other Jobs wait or
// are suspended.
func ofJob(live *unstructured.Unstructured) (Health, bool) {
	job, ok := as[batchv1.Job](live)
	if !ok {
		return Health{}, false
	}
	for _, c := range job.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case batchv1.JobComplete:
			return healthy("it has completed"), true
		case batchv1.JobFailed:
			return degraded("it failed: " + cmp.Or(c.Message, c.Reason)), true
		case batchv1.JobSuspended:
			return progressing("it is suspended"), true
		case batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:
		}
	}
	if job.Status.StartTime == nil {
		return Health{}, false
	}
	return progressing(fmt.Sprintf("it runs: %d active, %d succeeded, %d failed",
		job.Status.Active, job.Status.Succeeded, job.Status.Failed)), true
}

// ofClaim: the volume of a lost claim is gone.
func ofClaim(live *unstructured.Unstructured) (Health, bool) {
	claim, ok := as[corev1.PersistentVolumeClaim](live)
	if !ok || claim.Status.Phase != corev1.ClaimLost {
		return Health{}, false
	}
	return degraded("its volume " + claim.Spec.VolumeName + " is lost"), true
}

// ofService: a load balancer is ready when it has an address, where kstatus takes the cluster's own for it.
func ofService(live *unstructured.Unstructured) (Health, bool) {
	service, ok := as[corev1.Service](live)
	if !ok || service.Spec.Type != corev1.ServiceTypeLoadBalancer || len(service.Status.LoadBalancer.Ingress) > 0 {
		return Health{}, false
	}
	return progressing("its load balancer has no address yet"), true
}

// ofIngress: an Ingress is ready when a controller has published an address for it. kstatus doesn't know the kind.
func ofIngress(live *unstructured.Unstructured) (Health, bool) {
	ingress, ok := as[networkingv1.Ingress](live)
	if !ok || len(ingress.Status.LoadBalancer.Ingress) > 0 {
		return Health{}, false
	}
	return progressing("no ingress controller has published an address for it"), true
}

// ofStatefulSet: one whose pods a person replaces needs ready pods too. kstatus never looks at them.
func ofStatefulSet(live *unstructured.Unstructured) (Health, bool) {
	set, ok := as[appsv1.StatefulSet](live)
	if !ok || set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		return Health{}, false
	}
	wanted := int32(1)
	if set.Spec.Replicas != nil {
		wanted = *set.Spec.Replicas
	}
	if ready := set.Status.ReadyReplicas; ready < wanted {
		return progressing(fmt.Sprintf("Ready: %d/%d", ready, wanted)), true
	}
	return Health{}, false
}
