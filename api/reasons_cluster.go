package api

// Reasons of clusters, and of what is delivered to them.
const (
	// ReasonRoundTripOK: the cluster's operator was heard of within the last 90 seconds.
	ReasonRoundTripOK = "RoundTripOK"
	// ReasonRegistrationPending: no operator has registered yet.
	ReasonRegistrationPending = "RegistrationPending"
	// ReasonNoRecentRoundTrip: the cluster's operator was not heard of for 90 seconds.
	ReasonNoRecentRoundTrip = "NoRecentRoundTrip"
	// ReasonWaitingForCluster: the job waits for the cluster's operator to take it.
	ReasonWaitingForCluster = "WaitingForCluster"
	// ReasonApplying: the cluster's operator has taken the job, and its result is not known yet.
	ReasonApplying = "Applying"
	// ReasonInCluster: the cluster has the object as it is declared.
	ReasonInCluster = "InCluster"
	// ReasonMissing: the object was applied, and the cluster has it no more.
	ReasonMissing = "Missing"
	// ReasonDrifted: the object was applied, and fields of it were changed in the cluster.
	ReasonDrifted = "Drifted"
	// ReasonTerminating: the object was applied, and someone else deletes it in the cluster.
	ReasonTerminating = "Terminating"
	// ReasonNotReported: the cluster has not said yet how the declared generation is.
	ReasonNotReported = "NotReported"
	// ReasonDeliveryFailed: the cluster refused the object, or could not apply it; it is sent again, unless it is an
	// operation that has ended.
	ReasonDeliveryFailed = "DeliveryFailed"
	// ReasonFieldConflict: in the cluster another field manager has set a field to another value.
	ReasonFieldConflict = "FieldConflict"
	// ReasonClusterNotFound: no cluster of the name is declared.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonNamespaceNotAllowed: the cluster's namespaces don't include the object's scope.
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
	// ReasonDeletingInCluster: the object waits until the cluster has deleted it.
	ReasonDeletingInCluster = "DeletingInCluster"
	// ReasonUserCancelled: a person cancelled the operation.
	ReasonUserCancelled = "UserCancelled"
	// ReasonSupersededByOperation: a newer operation took the place of this one.
	ReasonSupersededByOperation = "SupersededByOperation"
)
