package operation

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/bounds"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/transition"
)

// Input holds everything that a decision depends on.
type Input struct {
	// Request is the operation, its target (or nil) and what its engine needs.
	engine.Request
	// Denied says why the operator may not start the operation; nil if it may.
	Denied *bounds.RefusalError
	// Others are the operations of the namespace, possibly including this one.
	Others []opsv1alpha1.Operation
	// Observed is the subject in the cluster, or nil if it doesn't exist.
	Observed *unstructured.Unstructured
	// NotInstalled says that the cluster doesn't have the subject's kind.
	NotInstalled bool
	// Refused says why the API server did not create the operation's object, or nil.
	Refused *apply.Refusal
	// Conflicts are the fields, set by other managers to other values, because of which the API server did not create
	// the operation's object.
	Conflicts []apply.Conflict
	// Missing are objects that the operation needs and that don't exist.
	Missing []engine.Need
	// NoPlace says why the engine's namespace is unknown; nil if it is known.
	NoPlace error
	// ApprovalSecret checks claims. Without it no claim is valid.
	ApprovalSecret []byte
	// Now is the time.
	Now time.Time
}

// Plan holds what to do with an operation, in this order: add the finalizer, write the status, apply or delete the
// object, remove the finalizer.
type Plan struct {
	// Status is the new status.
	Status opsv1alpha1.OperationStatus
	// Finalizer is set if the operation should have its finalizer.
	Finalizer bool
	// Apply is the object to create, or nil.
	Apply *unstructured.Unstructured
	// Delete is the object to delete, identified by its UID, or nil.
	Delete *unstructured.Unstructured
	// Events are the transitions of conditions.
	Events []transition.Event
	// After is the time until the next decision if nothing changes before. Zero means never.
	After time.Duration
}

// String returns the plan's effects on objects.
func (p Plan) String() string {
	line := fmt.Sprintf("phase %s", p.Status.Phase)
	if p.Apply != nil {
		line += fmt.Sprintf(", apply %s %s/%s", p.Apply.GetKind(), p.Apply.GetNamespace(), p.Apply.GetName())
	}
	if p.Delete != nil {
		line += fmt.Sprintf(", delete %s %s/%s", p.Delete.GetKind(), p.Delete.GetNamespace(), p.Delete.GetName())
	}
	if !p.Finalizer {
		line += ", remove the finalizer"
	}
	if p.After > 0 {
		line += fmt.Sprintf(", again after %s", p.After)
	}
	return line
}

// decision is a plan under construction.
type decision struct {
	Input
	op     *opsv1alpha1.Operation
	engine engine.Engine
	plan   Plan
}

// Decide returns what to do with an operation.
func Decide(in Input) Plan {
	op := in.Operation
	in.Now = in.Now.UTC().Truncate(time.Second) // the stored form
	d := &decision{Input: in, op: op, engine: engine.For(op.Spec.Engine)}
	d.plan.Status = *op.Status.DeepCopy()
	d.plan.Status.ObservedGeneration = op.Generation
	d.plan.Finalizer = true
	switch {
	case op.DeletionTimestamp != nil:
		d.remove()
	case op.Status.Phase.Terminal(): // final, whatever is observed
		d.stay()
	case Underway(op):
		d.follow()
	default:
		d.begin()
	}
	d.plan.Events = transitions(op.Status.Conditions, d.plan.Status.Conditions)
	return d.plan
}

// stay makes the conditions of an operation that has ended hold for its present generation. Otherwise a spec that
// arrives afterwards, such as one with an approval, would wait for its outcome.
func (d *decision) stay() {
	for i := range d.plan.Status.Conditions {
		d.plan.Status.Conditions[i].ObservedGeneration = d.op.Generation
	}
}

// SubjectOf returns the object that shows the operation's progress: the one it was started with, or else the one it
// would be started with.
func SubjectOf(req engine.Request) (engine.Subject, error) {
	made := engine.For(req.Operation.Spec.Engine)
	if made == nil {
		return engine.Subject{}, fmt.Errorf("spec.engine: there is no engine %q", req.Operation.Spec.Engine)
	}
	subject, err := made.Subject(req)
	if ref := req.Operation.Status.EngineRef; ref != nil && err == nil {
		subject.Namespace, subject.Name = ref.Namespace, ref.Name
	}
	return subject, err
}

// started reports whether the operation has started, or has ended without starting.
func started(op *opsv1alpha1.Operation) bool {
	return op.Status.StartedAt != nil || op.Status.Phase.Terminal()
}

// Underway reports whether the operation has started and not ended. Its phase is Pending until its engine works.
func Underway(op *opsv1alpha1.Operation) bool {
	return op.Status.StartedAt != nil && !op.Status.Phase.Terminal()
}
