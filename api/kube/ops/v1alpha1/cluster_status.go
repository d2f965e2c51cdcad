package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterPhase is a summary of a cluster's connection.
//
// +kubebuilder:validation:Enum=Pending;Registering;Connected;Disconnected;Error;Terminating
type ClusterPhase string

// The phases of a cluster.
const (
	ClusterPending      ClusterPhase = "Pending"
	ClusterRegistering  ClusterPhase = "Registering"
	ClusterConnected    ClusterPhase = "Connected"
	ClusterDisconnected ClusterPhase = "Disconnected"
	ClusterError        ClusterPhase = "Error"
	ClusterTerminating  ClusterPhase = "Terminating"
)

// The condition types of a Cluster.
const (
	// ConditionConnected reports whether the last round trip to the control plane succeeded.
	ConditionConnected = "Connected"
	// ConditionDisconnected reports whether no round trip has succeeded for some time.
	ConditionDisconnected = "Disconnected"
	// ConditionAuthenticated reports whether the control plane accepts the credentials.
	ConditionAuthenticated = "Authenticated"
	// ConditionControllersHealthy reports whether the controllers that the operator relies on are installed and ready.
	ConditionControllersHealthy = "ControllersHealthy"
	// ConditionBufferOverflow reports whether events were dropped because the control plane was unreachable for too long.
	ConditionBufferOverflow = "BufferOverflow"
)

// Reasons of Connected and of Disconnected.
const (
	ConnectedRoundTripOK         = "RoundTripOK"
	ConnectedReachable           = "ControlPlaneReachable"
	ConnectedUnreachable         = "ControlPlaneUnreachable"
	ConnectedRegistrationPending = "RegistrationPending"
	ConnectedCredentialMissing   = "CredentialMissing"
	ConnectedTokenInvalid        = "RegistrationTokenInvalid"
	DisconnectedNoRoundTrip      = "NoRecentRoundTrip"
	DisconnectedConnected        = "Connected"
)

// Reasons of Authenticated.
const (
	AuthenticatedAccepted           = "CredentialAccepted"
	AuthenticatedRegistered         = "RegistrationComplete"
	AuthenticatedRejected           = "CredentialRejected"
	AuthenticatedExpired            = "CredentialExpired"
	AuthenticatedRevoked            = "CredentialRevoked"
	AuthenticatedControlPlane       = "ControlPlaneAuthenticationFailed"
	AuthenticatedTokenMissing       = "TokenSecretMissing"
	AuthenticatedRegistrationFailed = "RegistrationFailed"
	AuthenticatedRotationFailed     = "RotationFailed"
	AuthenticatedCredentialMissing  = "CredentialMissing"
)

// Reasons of ControllersHealthy and of BufferOverflow.
const (
	ControllersReady    = "AllControllersReady"
	ControllersMissing  = "ControllerMissing"
	ControllersDegraded = "ControllerDegraded"
	BufferFull          = "EventBufferFull"
	BufferDrained       = "BufferDrained"
)

// ClusterStatus describes a cluster's connection to its control plane.
type ClusterStatus struct {
	// observedGeneration is the generation of the spec that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase summarizes the connection.
	// +optional
	Phase ClusterPhase `json:"phase,omitempty"`
	// conditions are Connected, Disconnected, Authenticated, ControllersHealthy and BufferOverflow.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// clusterId is the identity under which the cluster is registered.
	// +optional
	ClusterID string `json:"clusterId,omitempty"`
	// lastHeartbeat is the time of the last successful round trip.
	// +optional
	LastHeartbeat *metav1.Time `json:"lastHeartbeat,omitempty"`
	// credentialStatus says where the credentials are, and since when.
	// +optional
	CredentialStatus *CredentialStatus `json:"credentialStatus,omitempty"`
	// credentialsSecretRef names the Secret with the credentials.
	// +optional
	CredentialsSecretRef *SecretRef `json:"credentialsSecretRef,omitempty"`
	// observedToken is the start of the SHA-256 of the registration token that was last used: 16 hexadecimal digits.
	// +optional
	ObservedToken string `json:"observedToken,omitempty"`
	// rotationObserved is the value of spec.rotateCredentials that the operator has acted on.
	// +optional
	RotationObserved bool `json:"rotationObserved,omitempty"`
	// operatorVersion is the operator's version.
	// +optional
	OperatorVersion string `json:"operatorVersion,omitempty"`
	// controllers are the controllers that the operator relies on.
	// +listType=map
	// +listMapKey=name
	// +optional
	Controllers []ControllerStatus `json:"controllers,omitempty"`
	// managedNamespaces are the namespaces that the operator may work in. Empty means all.
	// +listType=map
	// +listMapKey=name
	// +optional
	ManagedNamespaces []ManagedNamespace `json:"managedNamespaces,omitempty"`
}

// CredentialStatus says where the credentials are, and since when.
type CredentialStatus struct {
	// secretName is the name of the Secret.
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// secretNamespace is the namespace of the Secret.
	// +optional
	SecretNamespace string `json:"secretNamespace,omitempty"`
	// registeredAt is the time of the registration.
	// +optional
	RegisteredAt *metav1.Time `json:"registeredAt,omitempty"`
	// registrationTokenConsumed says whether the token was used. It works once.
	// +optional
	RegistrationTokenConsumed bool `json:"registrationTokenConsumed,omitempty"`
}

// SecretRef names a Secret.
type SecretRef struct {
	// name is the Secret's name.
	Name string `json:"name"`
	// namespace is the Secret's namespace.
	Namespace string `json:"namespace"`
}

// ControllerStatus is a controller that the operator relies on.
type ControllerStatus struct {
	// name is the controller's name: flux, velero, argo-workflows or volsync.
	Name string `json:"name"`
	// installed says whether the cluster serves the controller's kinds.
	Installed bool `json:"installed"`
	// version is the controller's version, if known.
	// +optional
	Version string `json:"version,omitempty"`
	// message says what is missing.
	// +optional
	Message string `json:"message,omitempty"`
}

// ManagedNamespace is a namespace that the operator may work in.
type ManagedNamespace struct {
	// name is the namespace's name.
	Name string `json:"name"`
	// allowedOperationTemplates are the operation templates allowed there. Empty means all.
	// +listType=atomic
	// +optional
	AllowedOperationTemplates []string `json:"allowedOperationTemplates,omitempty"`
}
