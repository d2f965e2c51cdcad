package instance

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/gate"
)

// Observed is what Plan knows besides the instance.
type Observed struct {
	// ClusterID is the identity of the cluster; "" if it has none.
	ClusterID string
	// Absent are the kinds that an instance needs and that the cluster does not serve.
	Absent []schema.GroupVersionKind
	// Children are the live objects that have the names of the instance's children, of every kind that they can be of.
	Children []*unstructured.Unstructured
	// Denied is why the operator may not work on the instance; nil if it may.
	Denied *gate.RefusalError
	// Dependencies are the releases of the instances that this one waits for, by the instances' names.
	Dependencies map[string]string
	// Unmet is why one of these can't be waited for; "" if all can.
	Unmet string
	// Upgrade is what an Operation wants installed instead of what the spec says; nil if there is none.
	Upgrade *Upgrade
	// Refused are the objects that could not be applied in this reconcile because of conflicts.
	Refused []Refusal
	// Failure is any other reason why the API server refused an object in this reconcile; "" if it accepted all.
	Failure string
}

// Upgrade is another version or other values than the spec's, as an Operation wants them.
type Upgrade struct {
	// Version is the chart's version; "" keeps the spec's.
	Version string
	// Values are merged over the spec's.
	Values map[string]any
	// Running is whether an Operation is carrying it out now.
	Running bool
}

// Refusal is an object that could not be applied because of what another manager has set.
type Refusal struct {
	// Kind and Name say which object it is.
	Kind, Name string
	// Conflicts are the fields in question.
	Conflicts []Conflict
	// GiveUp is the command by which their managers give them up; "" if it is not known.
	GiveUp string
}

// Conflict is a field that another manager owns with another value.
type Conflict = apply.Conflict

// child returns the live object of a kind and a name.
func (o *Observed) child(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	for _, c := range o.Children {
		if c.GroupVersionKind() == kind && c.GetName() == name {
			return c
		}
	}
	return nil
}

// put replaces a live object by what it has become.
func (o *Observed) put(live *unstructured.Unstructured) {
	for i, c := range o.Children {
		if c.GroupVersionKind() == live.GroupVersionKind() && c.GetName() == live.GetName() {
			o.Children[i] = live
			return
		}
	}
	o.Children = append(o.Children, live)
}
