package instance

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/health"
	"tend.dev/tend/internal/operator/operation"
)

// Observed holds what Plan knows besides the instance.
type Observed struct {
	// ClusterID is the identity of the cluster, or empty.
	ClusterID string
	// Absent are the kinds that an instance needs and the cluster doesn't serve.
	Absent []schema.GroupVersionKind
	// Children are the live objects with the names of the instance's children, of all possible kinds.
	Children []*unstructured.Unstructured
	// Denied says why the operator may not work on the instance; nil if it may.
	Denied *bounds.RefusalError
	// Dependencies maps the instances that this one waits for to their releases.
	Dependencies map[string]string
	// Unmet says why waiting for a dependency is impossible; empty if all can be waited for.
	Unmet string
	// Upgrade holds what an Operation installs instead of the spec, or nil.
	Upgrade *Upgrade
	// Refused are the objects that could not be applied in this reconcile because of conflicts.
	Refused []Refusal
	// Health is the last reading of the release's objects for Flux's present report; nil if there is none.
	Health map[health.Entry]health.Health
	// ValuesChanged is the time of a change of an object with values that Flux doesn't know yet, or empty.
	ValuesChanged string
	// Failure is the API server's message about an object that it did not store in this reconcile for another reason;
	// empty if it stored all. FailureReason is the reason of Blocked for it.
	Failure, FailureReason string
}

// failed records the API server's answer to the apply of an object of a kind. One that may follow the write, or that
// only asks to wait, says nothing about the object.
func (o *Observed) failed(err error, kind schema.GroupVersionKind) {
	switch apply.AnswerOf(err) {
	case apply.Unserved:
		o.Absent = append(o.Absent, kind)
		o.Failure, o.FailureReason = err.Error(), appsv1alpha1.BlockedMissingDependencies
	case apply.Refused:
		o.Failure, o.FailureReason = err.Error(), appsv1alpha1.BlockedApplyRefused
	case apply.Held:
		o.Failure, o.FailureReason = err.Error(), appsv1alpha1.BlockedApplyFailed
	case apply.Stored, apply.Outdated, apply.Owned, apply.Unanswered:
	}
}

// Upgrade holds the version or values that an Operation requests instead of the spec's.
type Upgrade struct {
	// Version is the chart's version. Empty keeps the spec's.
	Version string
	// Values are merged over the spec's.
	Values map[string]any
	// Running is set while an Operation carries it out.
	Running bool
	// Abandoned are the versions and values that Operations have requested which have failed or were cancelled since.
	Abandoned []operation.Overlay
}

// Refusal is an object that could not be applied because of fields that other managers have set.
type Refusal struct {
	// Kind and Name identify the object.
	Kind, Name string
	// Conflicts lists those fields.
	Conflicts []Conflict
	// GiveUp is the command with which the managers give them up; empty if not known.
	GiveUp string
}

// Conflict is a field that another manager set to another value.
type Conflict = apply.Conflict

// child returns the live object of a kind and name, or nil.
func (o *Observed) child(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	for _, c := range o.Children {
		if c.GroupVersionKind() == kind && c.GetName() == name {
			return c
		}
	}
	return nil
}

// put replaces a live object by its new state.
func (o *Observed) put(live *unstructured.Unstructured) {
	for i, c := range o.Children {
		if c.GroupVersionKind() == live.GroupVersionKind() && c.GetName() == live.GetName() {
			o.Children[i] = live
			return
		}
	}
	o.Children = append(o.Children, live)
}
