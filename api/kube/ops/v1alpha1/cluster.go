package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Cluster connects the operator to its control plane. A Kubernetes cluster has one such object, named by the cluster's
// identity.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cluster
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Connected",type=string,JSONPath=`.status.conditions[?(@.type=="Connected")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Cluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec names the control plane. The operator never writes it.
	// +required
	Spec ClusterSpec `json:"spec"`
	// status describes the connection. Only the operator writes it.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterList is a list of Cluster.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}

// ConnectivityMode says how changes arrive in a cluster.
//
// +kubebuilder:validation:Enum=pull;push;gitops
type ConnectivityMode string

// The connectivity modes.
const (
	// ModePull: the operator polls its control plane.
	ModePull ConnectivityMode = "pull"
	// ModePush: the control plane writes to the cluster's API.
	ModePush ConnectivityMode = "push"
	// ModeGitOps: Flux or Argo CD applies a Git repository.
	ModeGitOps ConnectivityMode = "gitops"
)

// ClusterSpec names the control plane of a cluster.
//
// +kubebuilder:validation:XValidation:rule="(has(self.connectivityMode) && self.connectivityMode != 'pull') || has(self.controlPlaneEndpoint)",message="controlPlaneEndpoint is required: connectivityMode is pull"
// +kubebuilder:validation:XValidation:rule="!has(self.registrationToken)",message="registrationToken is not taken: put the token into a Secret of the operator's namespace, and name that in registrationTokenSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.controlPlaneBaseUrl)",message="controlPlaneBaseUrl is called controlPlaneEndpoint here"
// +kubebuilder:validation:XValidation:rule="!has(self.odooBaseUrl)",message="odooBaseUrl is called controlPlaneEndpoint here"
type ClusterSpec struct {
	// clusterId is the identity to register under. Without it the control plane assigns one: see status.clusterId.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterId can't be changed: delete the Cluster and register again"
	// +optional
	ClusterID string `json:"clusterId,omitempty"`
	// connectivityMode says how changes arrive: pull, push or gitops. The default is pull.
	// +kubebuilder:default=pull
	// +optional
	ConnectivityMode ConnectivityMode `json:"connectivityMode,omitempty"`
	// controlPlaneEndpoint is the base URL of the control plane. Required in mode pull.
	// +kubebuilder:validation:Pattern=`^https?://`
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	ControlPlaneEndpoint string `json:"controlPlaneEndpoint,omitempty"`
	// registrationTokenSecretRef names a key of a Secret in the operator's namespace: the token to register with.
	// +optional
	RegistrationTokenSecretRef *TokenRef `json:"registrationTokenSecretRef,omitempty"`
	// registrationToken is refused: put the token into a Secret.
	// +optional
	RegistrationToken string `json:"registrationToken,omitempty"`
	// controlPlaneBaseUrl is refused: use controlPlaneEndpoint.
	// +optional
	ControlPlaneBaseURL string `json:"controlPlaneBaseUrl,omitempty"`
	// odooBaseUrl is refused: use controlPlaneEndpoint.
	// +optional
	OdooBaseURL string `json:"odooBaseUrl,omitempty"`
	// rotateCredentials requests new credentials once. To request them again, set it to false and back to true. The
	// operator doesn't reset it; status.rotationObserved is the value that the operator has acted on.
	// +optional
	RotateCredentials bool `json:"rotateCredentials,omitempty"`
}

// TokenRef names a key of a Secret in the operator's namespace.
type TokenRef struct {
	// name is the Secret's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// key is the key that holds the token. The default is registrationToken.
	// +kubebuilder:default=registrationToken
	// +optional
	Key string `json:"key,omitempty"`
}
