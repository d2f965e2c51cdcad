package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ApplicationInstance declares one installed application: a chart, a release and values.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=appinst
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=`.status.health`
// +kubebuilder:printcolumn:name="Chart",type=string,JSONPath=`.spec.chart.name`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.lastAppliedChart.version`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name has more than 63 characters: it is the value of a label of every child"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.dependsOn) || self.spec.dependsOn.all(d, d.name != self.metadata.name)",message="spec.dependsOn names the instance itself: remove it"
type ApplicationInstance struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec says what to install. The operator never writes it.
	// +required
	Spec ApplicationInstanceSpec `json:"spec"`
	// status says what the operator observed. Nothing else writes it.
	// +optional
	Status ApplicationInstanceStatus `json:"status,omitempty"`
}

// ApplicationInstanceList is a list of ApplicationInstance.
//
// +kubebuilder:object:root=true
type ApplicationInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ApplicationInstance `json:"items"`
}

// Mode says whether an instance has a Helm release.
//
// +kubebuilder:validation:Enum=managed;placeholder
type Mode string

// The modes of an ApplicationInstance.
const (
	// ModeManaged is an instance with a chart, a release and values.
	ModeManaged Mode = "managed"
	// ModePlaceholder is an instance without a release: a target for operations of the cluster itself.
	ModePlaceholder Mode = "placeholder"
)

// ApplicationInstanceSpec says what to install.
//
// +kubebuilder:validation:XValidation:rule="self.mode == 'placeholder' || has(self.chart)",message="chart is required: mode is managed"
// +kubebuilder:validation:XValidation:rule="self.mode == 'placeholder' || has(self.release)",message="release is required: mode is managed"
// +kubebuilder:validation:XValidation:rule="self.mode == 'placeholder' || has(self.values)",message="values is required: mode is managed"
// +kubebuilder:validation:XValidation:rule="self.mode != 'placeholder' || (!has(self.chart) && !has(self.release) && !has(self.values))",message="a placeholder has no chart, release or values: remove them, or set mode to managed"
// +kubebuilder:validation:XValidation:rule="self.mode != 'placeholder' || (!has(self.valuesFrom) && !has(self.dependsOn) && !has(self.postRenderers) && !has(self.install) && !has(self.upgrade) && !has(self.test) && !has(self.driftDetection))",message="a placeholder has no release: remove valuesFrom, dependsOn, install, upgrade, test, driftDetection and postRenderers, or set mode to managed"
// +kubebuilder:validation:XValidation:rule="self.mode != 'placeholder' || oldSelf.mode == 'placeholder'",message="a managed instance can't become a placeholder: delete it and create the placeholder"
type ApplicationInstanceSpec struct {
	// appRef names the catalog entry this application comes from.
	// +required
	AppRef AppRef `json:"appRef"`
	// mode is managed (the default), or placeholder for an instance without a Helm release.
	// +kubebuilder:default=managed
	// +optional
	Mode Mode `json:"mode,omitempty"`
	// chart is the chart to install. Required in mode managed, absent otherwise.
	// +optional
	Chart *Chart `json:"chart,omitempty"`
	// release is the Helm release to install it as. Required in mode managed, absent otherwise.
	// +optional
	Release *Release `json:"release,omitempty"`
	// values are the chart's values. Required in mode managed, absent otherwise.
	// +optional
	Values *Values `json:"values,omitempty"`
	// valuesFrom are more values, from Secrets and ConfigMaps. A later entry overrides an earlier one, and values
	// overrides all of them; only an entry with a targetPath overrides values.
	// +kubebuilder:validation:MaxItems=32
	// +optional
	ValuesFrom []ValuesReference `json:"valuesFrom,omitempty"`
	// dependsOn lists instances in the namespace that must be ready before this one is installed or upgraded.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	DependsOn []LocalRef `json:"dependsOn,omitempty"`
	// integrations says which facilities of the cluster the application uses.
	// +optional
	Integrations *Integrations `json:"integrations,omitempty"`

	ReleaseOptions `json:",inline"`
}

// AppRef names a catalog entry. The operator records it and doesn't look it up.
type AppRef struct {
	// catalogId is the entry's identifier.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`\S`
	// +required
	CatalogID string `json:"catalogId"`
}

// ChartSourceType names the kind of repository that a chart comes from.
//
// +kubebuilder:validation:Enum=oci;helm
type ChartSourceType string

// The kinds of repositories.
const (
	// ChartSourceOCI is a chart in an OCI registry. Flux's OCIRepository fetches it.
	ChartSourceOCI ChartSourceType = "oci"
	// ChartSourceHelm is a chart in an HTTPS repository with an index. Flux's HelmRepository fetches it.
	ChartSourceHelm ChartSourceType = "helm"
)

// Chart is one version of one chart.
//
// +kubebuilder:validation:XValidation:rule="self.sourceType != 'oci' || self.url.startsWith('oci://')",message="url must begin with oci://: sourceType is oci"
// +kubebuilder:validation:XValidation:rule="self.sourceType != 'helm' || self.url.startsWith('https://')",message="url must begin with https://: sourceType is helm"
// +kubebuilder:validation:XValidation:rule="self.sourceType == 'oci' || !has(self.verify)",message="verify is for charts of an OCI registry: sourceType is helm"
type Chart struct {
	// sourceType is oci for an OCI registry, or helm for an HTTPS repository with an index.
	// +required
	SourceType ChartSourceType `json:"sourceType"`
	// url is the address of the repository, without the chart's name: oci://registry/folder, or https://host/path.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +required
	URL string `json:"url"`
	// name is the chart's name in the repository.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// version is one exact semantic version. A range, or latest, is refused: the installed version would change by itself.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`
	// +required
	Version string `json:"version"`
	// secretRef names a Secret with the login of a private repository: of type kubernetes.io/dockerconfigjson for oci,
	// with username and password for helm.
	// +optional
	SecretRef *LocalRef `json:"secretRef,omitempty"`
	// certSecretRef names a Secret for TLS: with ca.crt for a certificate authority of your own, with tls.crt and tls.key
	// for a client certificate.
	// +optional
	CertSecretRef *LocalRef `json:"certSecretRef,omitempty"`
	// verify says whose signature the chart must have. Only for oci.
	// +optional
	Verify *Verify `json:"verify,omitempty"`
}

// Release identifies a Helm release. Neither field can be changed: another release needs another instance.
type Release struct {
	// name is the name of the HelmRelease and of the Helm release.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="release.name can't be changed: create another instance"
	// +required
	Name string `json:"name"`
	// namespace is the namespace to install the release in. It must be the instance's own namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="release.namespace can't be changed: create another instance"
	// +required
	Namespace string `json:"namespace"`
}

// ValuesSource says where a chart's values come from.
//
// +kubebuilder:validation:Enum=inline;secretRef;configMapRef
type ValuesSource string

// The sources of values.
const (
	// ValuesInline are values in the instance.
	ValuesInline ValuesSource = "inline"
	// ValuesSecret are values in a key of a Secret.
	ValuesSecret ValuesSource = "secretRef"
	// ValuesConfigMap are values in a key of a ConfigMap.
	ValuesConfigMap ValuesSource = "configMapRef"
)

// Values are the values of a chart, from exactly one source.
//
// +kubebuilder:validation:XValidation:rule="(self.source == 'inline') == has(self.inline)",message="inline is given if, and only if, source is inline"
// +kubebuilder:validation:XValidation:rule="(self.source == 'secretRef') == has(self.secretRef)",message="secretRef is given if, and only if, source is secretRef"
// +kubebuilder:validation:XValidation:rule="(self.source == 'configMapRef') == has(self.configMapRef)",message="configMapRef is given if, and only if, source is configMapRef"
type Values struct {
	// source names the one other field that holds the values.
	// +required
	Source ValuesSource `json:"source"`
	// inline are the values themselves. Secrets don't belong here: use secretRef.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Inline *runtime.RawExtension `json:"inline,omitempty"`
	// secretRef names a key of a Secret that holds a values document. Flux reads it; the operator copies nothing.
	// +optional
	SecretRef *KeyRef `json:"secretRef,omitempty"`
	// configMapRef names a key of a ConfigMap that holds a values document.
	// +optional
	ConfigMapRef *KeyRef `json:"configMapRef,omitempty"`
}

// KeyRef names a key of a Secret or ConfigMap in the instance's namespace.
type KeyRef struct {
	// name is the object's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// key is the key that holds a values document in YAML or JSON.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +required
	Key string `json:"key"`
}

// Integrations says which facilities of the cluster an application uses. The control plane translates them into values.
// The operator only takes the endpoint from them.
type Integrations struct {
	// externalSecrets says that secrets come from External Secrets.
	// +optional
	ExternalSecrets *Integration `json:"externalSecrets,omitempty"`
	// certManager says that certificates come from cert-manager.
	// +optional
	CertManager *Integration `json:"certManager,omitempty"`
	// ingress says that the application has an ingress, and at which host.
	// +optional
	Ingress *IngressIntegration `json:"ingress,omitempty"`
}

// Integration is a facility that an application may use.
type Integration struct {
	// enabled says whether the application uses it. The default is false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// IngressIntegration is the ingress of an application.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.host)",message="host is required: the ingress is enabled"
type IngressIntegration struct {
	// enabled says whether the application has an ingress. The default is false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// host is its host name. Required when the ingress is enabled.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Host string `json:"host,omitempty"`
}
