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
	// Differences are the fields that the cluster has otherwise than the object declares; empty if none is known.
	Differences []ClusterDifference `json:"differences,omitempty"`
	// Endpoints are where the application is reached, as the cluster says.
	Endpoints []ClusterEndpoint `json:"endpoints,omitempty"`
	// Objects are what the application consists of in the cluster, as Flux reports it: the first 100 of ObjectCount.
	Objects     []ClusterObject `json:"objects,omitempty"`
	ObjectCount int             `json:"objectCount,omitempty"`
	// Health is the worst health of Objects; empty until the cluster has said it of what was applied last.
	Health ClusterHealth `json:"health,omitempty"`
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
	// Generation is that of the object in the job, Attempt counts the jobs for it, from 1.
	Generation int64     `json:"generation"`
	Attempt    int       `json:"attempt"`
	CreatedAt  time.Time `json:"createdAt"`
	// AcknowledgedAt is when the operator took it.
	AcknowledgedAt time.Time `json:"acknowledgedAt,omitzero"`
	// Outcome is succeeded, failed, noop or conflict; empty until there is one. Error is why it is not succeeded.
	Outcome string    `json:"outcome,omitempty"`
	Error   string    `json:"error,omitempty"`
	EndedAt time.Time `json:"endedAt,omitzero"`
	// RetryAt is when a failed one is sent again.
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

// ClusterEndpoint is where an application is reached.
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
	// Heal is why the same is applied again; nil if the object was written.
	Heal *ClusterHeal `json:"heal,omitempty"`
	// Force has a new apply take fields back that others have changed since the one before.
	Force bool `json:"force,omitempty"`
}

// ClusterHeal says why an object is applied again without having been written.
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
	// Key is that of the job that it was compared with: of a newer one it says nothing.
	Key string `json:"key"`
	// Missing: there is no such resource. Deleting: there is, and it is being deleted.
	Missing  bool `json:"missing,omitempty"`
	Deleting bool `json:"deleting,omitempty"`
	// UID is the resource's.
	UID         string              `json:"uid,omitempty"`
	Differences []ClusterDifference `json:"differences,omitempty"`
	// At is when it was found so.
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
	// Job is the one that was acknowledged last, at AckedAt; RenewedAt is when the operator spoke of it last.
	Job       string    `json:"job,omitempty"`
	AckedAt   time.Time `json:"ackedAt,omitzero"`
	RenewedAt time.Time `json:"renewedAt,omitzero"`
	// Message is that of the operator's last status.
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
	// Conditions are those of the resource, each as it was reported last.
	Conditions []ReportedCondition `json:"conditions,omitempty"`
	Endpoints  []ClusterEndpoint   `json:"endpoints,omitempty"`
	// Objects are those of the release, the first 100 of ObjectCount. Health is the worst of theirs.
	Objects     []ClusterObject `json:"objects,omitempty"`
	ObjectCount int             `json:"objectCount,omitempty"`
	Health      ClusterHealth   `json:"health,omitempty"`
	// HealthOf is the resource, with its generation, of which the health was reported; nil if none is known.
	HealthOf *ClusterResource `json:"healthOf,omitempty"`
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
