package records

import "tend.dev/tend/api"

// ClusterJob reads the job of an object of a cluster.
func (s Snapshot) ClusterJob(cluster string, ref api.Ref) Read[api.ClusterJob] {
	return get[api.ClusterJob](s, ClusterJobKey(cluster, ref))
}

// ClusterJobs returns the jobs of a cluster.
func (s Snapshot) ClusterJobs(cluster string) []Read[api.ClusterJob] {
	return collect[api.ClusterJob](s.Prefix(ClusterJobSetPrefix(cluster)))
}

// DeliveredStatus reads the status of an object that is delivered to a cluster.
func (s Snapshot) DeliveredStatus(ref api.Ref) Read[api.DeliveredStatus] {
	return get[api.DeliveredStatus](s, StatusKey(ref))
}

// ReleaseStatus returns the releases in an object's status. For an object that is delivered to a cluster, it holds the
// current release and the outcomes. It is nil without a status.
func (s Snapshot) ReleaseStatus(ref api.Ref) *api.WorkloadStatus {
	if !ref.Kind.HasVersions() {
		return s.WorkloadStatus(ref).Value
	}
	status := s.DeliveredStatus(ref).Value
	if status == nil {
		return nil
	}
	return &api.WorkloadStatus{Release: status.Release, Outcomes: status.Outcomes}
}

// ClusterReport reads the report of an object's cluster about it.
func (s Snapshot) ClusterReport(ref api.Ref) Read[api.ClusterReport] {
	return get[api.ClusterReport](s, ClusterReportKey(ref))
}

// ClusterAccess reads the tokens of a cluster.
func (s Snapshot) ClusterAccess(cluster string) Read[api.ClusterAccess] {
	return get[api.ClusterAccess](s, ClusterAccessKey(cluster))
}

// ClusterContact reads the time of the last contact with a cluster's operator.
func (s Snapshot) ClusterContact(cluster string) Read[api.ClusterContact] {
	return get[api.ClusterContact](s, ClusterContactKey(cluster))
}

// Cluster reads a cluster's manifest.
func (s Snapshot) Cluster(name string) Read[api.Object] {
	return s.Object(api.Ref{Kind: api.KindCluster, Scope: api.Unscoped, Name: name})
}

// ClusterStatus reads the status of a cluster.
func (s Snapshot) ClusterStatus(name string) Read[api.ClusterStatus] {
	return get[api.ClusterStatus](s, StatusKey(api.Ref{Kind: api.KindCluster, Scope: api.Unscoped, Name: name}))
}

// InCluster returns the objects that name a cluster.
func (s Snapshot) InCluster(cluster string) []Read[api.Object] {
	return collect[api.Object](s.Index(IndexInCluster, cluster))
}
