package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ApplicationInstanceStatus says what the operator observed.
type ApplicationInstanceStatus struct {
	// observedGeneration is the generation of the spec that this status was computed from. If it is less than
	// metadata.generation, the status describes an older spec.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready, Reconciling, Degraded, Suspended, Blocked and Deleting.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// helmReleaseRef names the HelmRelease once it exists.
	// +optional
	HelmReleaseRef *ObjectRef `json:"helmReleaseRef,omitempty"`
	// lastAppliedChart is the chart in the HelmRelease that the operator wrote last.
	// +optional
	LastAppliedChart *AppliedChart `json:"lastAppliedChart,omitempty"`
	// lastReconcileTime is the time of this status's last change: a reconcile that changes nothing writes nothing.
	// +optional
	LastReconcileTime *metav1.Time `json:"lastReconcileTime,omitempty"`
	// lastHandledReconcileAt is the value of the annotation reconcile.fluxcd.io/requestedAt that was last passed on to
	// Flux.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`
	// lastHandledTakeOver is the value of the annotation apps.vworkspace.io/take-over that the operator acted on last.
	// +optional
	LastHandledTakeOver string `json:"lastHandledTakeOver,omitempty"`
	// inventory lists the release's objects as Flux reports them: the first 100, without hooks.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Inventory []InventoryEntry `json:"inventory,omitempty"`
	// inventoryCount is the number of objects in the release.
	// +optional
	InventoryCount int32 `json:"inventoryCount,omitempty"`
	// health is the worst health of the objects in inventory. It is Progressing at best while Flux changes the release.
	// It is absent before all of them were read for the present spec.
	// +optional
	Health Health `json:"health,omitempty"`
	// history lists the revisions of the Helm release as Flux reports them, the newest first, at most 10.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +optional
	History []HelmRevision `json:"history,omitempty"`
	// lastRevision is the newest revision of Helm that is known to be of a spec of this instance.
	// +optional
	LastRevision *SpecRevision `json:"lastRevision,omitempty"`
	// endpoints are the addresses of a ready application, as spec.integrations.ingress declares them.
	// +listType=map
	// +listMapKey=name
	// +optional
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// ObjectRef names an object of a known kind.
type ObjectRef struct {
	// name is the object's name.
	Name string `json:"name"`
	// namespace is the object's namespace.
	Namespace string `json:"namespace"`
}

// InventoryEntry names an object of a release.
type InventoryEntry struct {
	// apiVersion is the group and the version of the object's kind.
	APIVersion string `json:"apiVersion"`
	// kind is the object's kind.
	Kind string `json:"kind"`
	// namespace is the object's namespace; absent for a kind without namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name is the object's name.
	Name string `json:"name"`
	// health is the object's health; absent before it was read for the present spec.
	// +optional
	Health Health `json:"health,omitempty"`
	// message says why the object isn't healthy.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Message string `json:"message,omitempty"`
}

// Health is the health of an object in the cluster.
// +kubebuilder:validation:Enum=Healthy;Progressing;Degraded;Missing;Unknown
type Health string

// The values of Health.
const (
	// HealthHealthy: the object is as it should be.
	HealthHealthy Health = "Healthy"
	// HealthProgressing: the object isn't as it should be yet.
	HealthProgressing Health = "Progressing"
	// HealthDegraded: something failed.
	HealthDegraded Health = "Degraded"
	// HealthMissing: the object doesn't exist.
	HealthMissing Health = "Missing"
	// HealthUnknown: the object could not be read.
	HealthUnknown Health = "Unknown"
)

// HelmRevision is a revision of a Helm release.
type HelmRevision struct {
	// revision is its number in `helm history`.
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision"`
	// chartVersion is the version of the chart. Flux adds the digest of one from an OCI registry to it.
	// +optional
	ChartVersion string `json:"chartVersion,omitempty"`
	// status is Helm's word for it, such as deployed, superseded or failed.
	// +optional
	Status string `json:"status,omitempty"`
	// digest is Flux's checksum of the revision as Helm stores it.
	// +optional
	Digest string `json:"digest,omitempty"`
	// firstDeployed is when the release was first installed.
	// +optional
	FirstDeployed *metav1.Time `json:"firstDeployed,omitempty"`
	// lastDeployed is when the revision was made.
	// +optional
	LastDeployed *metav1.Time `json:"lastDeployed,omitempty"`
}

// SpecRevision says which revision of Helm a spec became.
type SpecRevision struct {
	// generation is the generation of the spec.
	Generation int64 `json:"generation"`
	// revision is the number of the revision.
	Revision int64 `json:"revision"`
}

// AppliedChart is the chart in a HelmRelease that the operator wrote.
type AppliedChart struct {
	// sourceType is the kind of the chart's repository.
	SourceType ChartSourceType `json:"sourceType"`
	// url is the repository's address.
	URL string `json:"url"`
	// name is the chart's name.
	Name string `json:"name"`
	// version is the chart's version.
	Version string `json:"version"`
}

// Endpoint is an address of an application.
type Endpoint struct {
	// name identifies the endpoint within the instance.
	Name string `json:"name"`
	// url is its address.
	URL string `json:"url"`
	// type is the kind of endpoint, such as ingress.
	// +optional
	Type string `json:"type,omitempty"`
	// notes are for people.
	// +optional
	Notes string `json:"notes,omitempty"`
}
