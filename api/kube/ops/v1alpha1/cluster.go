package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Cluster is what the operator is to its control plane: one object in a Kubernetes cluster, named by the cluster's
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
	// spec says which control plane there is. The operator never writes it.
	// +required
	Spec ClusterSpec `json:"spec"`
	// status is how the connection is. Nothing but the operator writes it.
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

// ConnectivityMode is how intent arrives in a cluster.
//
// +kubebuilder:validation:Enum=pull;push;gitops
type ConnectivityMode string

// The connectivity modes.
const (
	// ModePull is an operator that polls its control plane.
	ModePull ConnectivityMode = "pull"
	// ModePush is a control plane that writes to the cluster's API.
	ModePush ConnectivityMode = "push"
	// ModeGitOps is a Git repository that Flux or Argo CD applies.
	ModeGitOps ConnectivityMode = "gitops"
)

// ClusterSpec says which control plane a cluster has.
//
// +kubebuilder:validation:XValidation:rule="(has(self.connectivityMode) && self.connectivityMode != 'pull') || has(self.controlPlaneEndpoint)",message="controlPlaneEndpoint is required: connectivityMode is pull"
// +kubebuilder:validation:XValidation:rule="!has(self.registrationToken)",message="registrationToken is not taken: put the token into a Secret of the operator's namespace, and name that in registrationTokenSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.controlPlaneBaseUrl)",message="controlPlaneBaseUrl is called controlPlaneEndpoint here"
// +kubebuilder:validation:XValidation:rule="!has(self.odooBaseUrl)",message="odooBaseUrl is called controlPlaneEndpoint here"
type ClusterSpec struct {
	// clusterId is the identity to register under. Without one the control plane gives one: see status.clusterId.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterId can't be changed: delete the Cluster and register again"
	// +optional
	ClusterID string `json:"clusterId,omitempty"`
	// connectivityMode is how intent arrives: pull, push or gitops. The default is pull.
	// +kubebuilder:default=pull
	// +optional
	ConnectivityMode ConnectivityMode `json:"connectivityMode,omitempty"`
	// controlPlaneEndpoint is the base URL of the control plane. Required in mode pull.
	// +kubebuilder:validation:Pattern=`^https?://`
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	ControlPlaneEndpoint string `json:"controlPlaneEndpoint,omitempty"`
	// registrationTokenSecretRef names the Secret, in the operator's namespace, with the token to register with.
	// +optional
	RegistrationTokenSecretRef *TokenRef `json:"registrationTokenSecretRef,omitempty"`
	// registrationToken is refused: a token belongs into a Secret.
	// +optional
	RegistrationToken string `json:"registrationToken,omitempty"`
	// controlPlaneBaseUrl is refused: it is controlPlaneEndpoint.
	// +optional
	ControlPlaneBaseURL string `json:"controlPlaneBaseUrl,omitempty"`
	// odooBaseUrl is refused: it is controlPlaneEndpoint.
	// +optional
	OdooBaseURL string `json:"odooBaseUrl,omitempty"`
	// rotateCredentials asks for new credentials, once: set it to false and to true again for the next ones. The operator
	// does not reset it; status.rotationObserved is what it has seen of it.
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
	// key is the key of the token. The default is registrationToken.
	// +kubebuilder:default=registrationToken
	// +optional
	Key string `json:"key,omitempty"`
}
