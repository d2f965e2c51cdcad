package api

import (
	"encoding/json"
	"time"
)

// DeliveredStatus is the status of an object that is delivered to a Kubernetes cluster.
type DeliveredStatus struct {
	// ObservedGeneration is the newest generation that the cluster has.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ObservedRevision is the revision of the object that the status was made from.
	ObservedRevision int64 `json:"observedRevision,omitempty"`
	// Phase is Pending, Delivering, Applied, Missing, Drifted, Failed, Conflict or Deleting; of an operation that the
	// cluster has, how that is: Pending, Running, Succeeded, Failed or Cancelled.
	Phase    string          `json:"phase,omitempty"`
	Delivery *DeliveryStatus `json:"delivery,omitempty"`
	// Release is the release whose spec the cluster is to have; empty for a kind without releases. Outcomes holds what
	// the cluster answered about the kept releases, by their ids. A release without an answer is not in it.
	Release  string                    `json:"release,omitempty"`
	Outcomes map[string]ReleaseOutcome `json:"outcomes,omitempty"`
	// Differences are the fields that the cluster has otherwise than the object declares; empty if none is known.
	Differences []ClusterDifference `json:"differences,omitempty"`
	// Endpoints lists the application's addresses, as the cluster reports them.
	Endpoints []ClusterEndpoint `json:"endpoints,omitempty"`
	// Objects lists the application's objects in the cluster, as Flux reports them: the first 100 of ObjectCount.
	Objects     []ClusterObject `json:"objects,omitempty"`
	ObjectCount int             `json:"objectCount,omitempty"`
	// Health is the worst health of Objects; empty until the cluster has reported it for the last apply.
	Health ClusterHealth `json:"health,omitempty"`
	// Revisions lists the revisions of the Helm release, the newest first, as Flux reports them: at most 10.
	Revisions []HelmRevision `json:"revisions,omitempty"`
	// Conditions are Tend's own (Ready, Progressing, Degraded, Delivered), and those that the cluster reports.
	Conditions []Condition `json:"conditions,omitempty"`
}

// The phases of an object that is delivered.
const (
	DeliveredPending    = "Pending"
	DeliveredDelivering = "Delivering"
	DeliveredApplied    = "Applied"
	DeliveredMissing    = "Missing"
	DeliveredDrifted    = "Drifted"
	DeliveredFailed     = "Failed"
	DeliveredConflict   = "Conflict"
	DeliveredDeleting   = "Deleting"

	OperationRunning   = "Running"
	OperationSucceeded = "Succeeded"
	OperationCancelled = "Cancelled"
)

// DeliveryStatus describes the progress of an object's job.
type DeliveryStatus struct {
	// Job is the id of the job, Action what it asks for: apply or delete.
	Job     string `json:"job"`
	Action  string `json:"action"`
	Cluster string `json:"cluster"`
	// Generation is the generation of the object in the job. Attempt counts the jobs for it, from 1.
	Generation int64     `json:"generation"`
	Attempt    int       `json:"attempt"`
	CreatedAt  time.Time `json:"createdAt"`
	// AcknowledgedAt is the time at which the operator took the job.
	AcknowledgedAt time.Time `json:"acknowledgedAt,omitzero"`
	// Outcome is succeeded, failed, noop or conflict; empty until there is one. Error is the cause of an outcome other
	// than succeeded.
	Outcome string    `json:"outcome,omitempty"`
	Error   string    `json:"error,omitempty"`
	EndedAt time.Time `json:"endedAt,omitzero"`
	// RetryAt is the time at which a failed job is sent again.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Resource is the resource in the cluster, as it was applied last.
	Resource *ClusterResource `json:"resource,omitempty"`
}

// ClusterResource names a resource of a cluster. Generation is the cluster's own.
type ClusterResource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
	Generation int64  `json:"generation,omitempty"`
}

// ClusterObject is an object that a chart made in a cluster.
type ClusterObject struct {
	ClusterResource
	// Health is empty until the cluster has said it of what was applied last. Message says why it isn't Healthy.
	Health  ClusterHealth `json:"health,omitempty"`
	Message string        `json:"message,omitempty"`
}

// HelmRevision is a revision of a Helm release in a cluster.
type HelmRevision struct {
	// Revision is its number in `helm history`, from 1.
	Revision int64 `json:"revision"`
	// ChartVersion is the chart's version. Flux adds the digest of a chart from an OCI registry to it.
	ChartVersion string `json:"chartVersion,omitempty"`
	// Status is Helm's word for it: deployed, superseded, failed, …
	Status string `json:"status,omitempty"`
	// Digest is Flux's checksum of the revision.
	Digest string `json:"digest,omitempty"`
	// FirstDeployed is when the Helm release was first installed, LastDeployed when the revision was made.
	FirstDeployed time.Time `json:"firstDeployed,omitzero"`
	LastDeployed  time.Time `json:"lastDeployed,omitzero"`
}

// ClusterHealth is the health of an object in a cluster.
type ClusterHealth string

// The values of ClusterHealth. Unknown is an object that the operator could not read, such as for lack of a right.
const (
	ClusterHealthy     ClusterHealth = "Healthy"
	ClusterProgressing ClusterHealth = "Progressing"
	ClusterDegraded    ClusterHealth = "Degraded"
	ClusterMissing     ClusterHealth = "Missing"
	ClusterUnknown     ClusterHealth = "Unknown"
)

// ClusterEndpoint is an address of an application.
type ClusterEndpoint struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// ClusterJob is an order to the cluster about one object. Key /clusters/jobs/<cluster>/<kind>/<scope>/<name>; the
// kind's controller writes it.
type ClusterJob struct {
	ID     string `json:"id"`
	Object Ref    `json:"object"`
	// UID and Generation are the object's.
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
	// Action is apply or delete.
	Action string `json:"action"`
	// Key is the same for every attempt at the same thing: who has done it once does nothing the next time.
	Key     string `json:"key"`
	Attempt int    `json:"attempt"`
	// Payload is the content that the operator gets.
	Payload   json.RawMessage `json:"payload"`
	CreatedAt time.Time       `json:"createdAt"`
	ExpiresAt time.Time       `json:"expiresAt"`
	// Heal is the reason to apply an unchanged object again; nil if the object was written.
	Heal *ClusterHeal `json:"heal,omitempty"`
	// Force has a new apply take fields back that others have changed since the one before.
	Force bool `json:"force,omitempty"`
}

// ClusterHeal is the reason to apply an unchanged object again.
type ClusterHeal struct {
	// Count is the number of times it was applied again in a row, from 1.
	Count int `json:"count"`
	// Reason is Missing or Drifted, Message what was found.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Force takes fields back that another field manager has changed since they were applied.
	Force bool `json:"force,omitempty"`
}

// ClusterLive is the operator's comparison of a resource with what was applied.
type ClusterLive struct {
	// Key is the key of the job that the cluster was compared with. The result doesn't apply to a newer job.
	Key string `json:"key"`
	// Missing: there is no such resource. Deleting: there is, and it is being deleted.
	Missing  bool `json:"missing,omitempty"`
	Deleting bool `json:"deleting,omitempty"`
	// UID is the resource's.
	UID         string              `json:"uid,omitempty"`
	Differences []ClusterDifference `json:"differences,omitempty"`
	// At is the time of the comparison.
	At time.Time `json:"at"`
}

// ClusterDifference is a field that a cluster has otherwise than an object declares.
type ClusterDifference struct {
	// Field is its path: spec.chart.version.
	Field string `json:"field"`
	// Declared and Live are the values as JSON, cut to 128 characters; Live is empty if there is none.
	Declared string `json:"declared"`
	Live     string `json:"live,omitempty"`
	// Manager is the field manager that set it; empty if none did, as when it was removed.
	Manager string `json:"manager,omitempty"`
}

// The actions of a ClusterJob.
const (
	ActionApply  = "apply"
	ActionDelete = "delete"
)

// ClusterReport is the last report of a cluster's operator about one object. Key /actual/objects/<kind>/<scope>/<name>;
// the servers that it asks write it.
type ClusterReport struct {
	// UID is the object's.
	UID string `json:"uid"`
	// Job is the last acknowledged job, AckedAt the time of its acknowledgement, RenewedAt the time of the operator's
	// last report on it.
	Job       string    `json:"job,omitempty"`
	AckedAt   time.Time `json:"ackedAt,omitzero"`
	RenewedAt time.Time `json:"renewedAt,omitzero"`
	// Message is the message in the operator's last status.
	Message string `json:"message,omitempty"`
	// Result is the outcome of Job; nil until it is known.
	Result *ClusterResult `json:"result,omitempty"`
	// Observed is the newest generation of the object that the cluster is known to have.
	Observed int64 `json:"observed,omitempty"`
	// Applied is the resource as it was applied last, by AppliedJob at AppliedAt. What was said earlier says nothing of
	// it.
	Applied    *ClusterResource `json:"applied,omitempty"`
	AppliedJob string           `json:"appliedJob,omitempty"`
	AppliedAt  time.Time        `json:"appliedAt,omitzero"`
	// Live compares the resource with what was applied; nil until the operator has.
	Live *ClusterLive `json:"live,omitempty"`
	// Conditions lists the last reported conditions of the resource.
	Conditions []ReportedCondition `json:"conditions,omitempty"`
	Endpoints  []ClusterEndpoint   `json:"endpoints,omitempty"`
	// Objects lists the first 100 of the release's ObjectCount objects. Health is their worst health.
	Objects     []ClusterObject `json:"objects,omitempty"`
	ObjectCount int             `json:"objectCount,omitempty"`
	Health      ClusterHealth   `json:"health,omitempty"`
	// HealthOf is the resource, with its generation, of which the health was reported; nil if none is known.
	HealthOf *ClusterResource `json:"healthOf,omitempty"`
	// Revisions lists the revisions of the Helm release, the newest first, at most 10. Revision is the one that
	// RevisionOf, the resource with its generation, became; 0 if none is known.
	Revisions  []HelmRevision   `json:"revisions,omitempty"`
	Revision   int64            `json:"revision,omitempty"`
	RevisionOf *ClusterResource `json:"revisionOf,omitempty"`
	// Seen are the hashes of the last events, so that none is taken twice.
	Seen []string `json:"seen,omitempty"`
}

// ClusterResult is the end of a job.
type ClusterResult struct {
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	// Applied: the resource was applied, also if the outcome is failed: then it is not healthy.
	Applied bool      `json:"applied,omitempty"`
	At      time.Time `json:"at"`
}

// ReportedCondition is a condition of a resource, with the generation of the resource that it speaks of, when it was
// reported, and the job that was the last to be acknowledged then.
type ReportedCondition struct {
	Condition
	UID        string    `json:"uid,omitempty"`
	Generation int64     `json:"generation,omitempty"`
	Job        string    `json:"job,omitempty"`
	At         time.Time `json:"at"`
}

// The finalizer and the stamp of objects that are delivered.
const (
	// FinalizerCluster keeps an object until its cluster has removed what was applied there.
	FinalizerCluster = "tend/cluster"
	// StampOrphan marks an object that is being deleted without its cluster's answer: what was applied there stays.
	StampOrphan = "orphan"
)
