package pull

// The labels of what a control plane sends to a cluster, and of what its operator creates there.
const (
	// LabelManagedBy has the value ManagedBy: the control plane is where the intent comes from.
	LabelManagedBy = "app.vworkspace.io/managed-by"
	// LabelClusterID has the identity that the cluster is registered under.
	LabelClusterID = "app.vworkspace.io/cluster-id"
	// LabelApplicationInstance has the name of the ApplicationInstance that the object is downstream of.
	LabelApplicationInstance = "app.vworkspace.io/application-instance"
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "control-plane"
)

// AnnotationRequestedAt is Flux's annotation that asks for a reconcile now, with a value that it did not have before.
const AnnotationRequestedAt = "reconcile.fluxcd.io/requestedAt"

// AnnotationReconcile with the value ReconcileDisabled, on an ApplicationInstance, pauses it.
const (
	AnnotationReconcile = "apps.vworkspace.io/reconcile"
	ReconcileDisabled   = "disabled"
)
