package api

// ApplicationInstanceSpec declares an application in a Kubernetes cluster: a Helm chart with its values. But for
// Cluster its fields are those of the resource of the same name; the scope is the namespace.
type ApplicationInstanceSpec struct {
	// Cluster is the name of the cluster that it runs in. It can't be changed.
	Cluster string `json:"cluster" hcl:"cluster"`
	// AppRef names the entry of the catalog that it is of.
	AppRef AppRef `json:"appRef" hcl:"app_ref,block"`
	// Mode is managed (default), or placeholder: without a release.
	Mode string `json:"mode,omitempty" hcl:"mode,optional"`
	// Chart is the source of the chart. Required unless the mode is placeholder.
	Chart *ChartSource `json:"chart,omitempty" hcl:"chart,block"`
	// Release is the Helm release. Required unless the mode is placeholder.
	Release *HelmRelease `json:"release,omitempty" hcl:"release,block"`
	// Values are the chart's values. Needed unless the mode is placeholder.
	Values *ChartValues `json:"values,omitempty" hcl:"values,block"`
	// ValuesFrom are more values, from Secrets and ConfigMaps. A later one counts more than an earlier one, Values
	// count more than all of them, and what has a target path counts most.
	ValuesFrom []ValuesReference `json:"valuesFrom,omitempty" hcl:"values_from,block"`
	// DependsOn are application instances of the same cluster and scope that must be ready before this one is installed
	// or upgraded.
	DependsOn []LocalRef `json:"dependsOn,omitempty" hcl:"depends_on,block"`
	// Integrations selects the parts of the cluster that it uses.
	Integrations *Integrations `json:"integrations,omitempty" hcl:"integrations,block"`
	ReleaseOptions
}

// The modes of an application instance.
const (
	ModeManaged     = "managed"
	ModePlaceholder = "placeholder"
)

// AppRef names an entry of a catalog.
type AppRef struct {
	// CatalogID is the entry's id. It is recorded; nothing looks it up.
	CatalogID string `json:"catalogId" hcl:"catalog_id"`
}

// ChartSource is the source of a chart.
type ChartSource struct {
	// SourceType is oci or helm.
	SourceType string `json:"sourceType" hcl:"source_type"`
	// URL is the URL of the registry (oci://…) or of the repository (https://…).
	URL string `json:"url" hcl:"url"`
	// Name is the chart's.
	Name string `json:"name" hcl:"name"`
	// Version is an exact one, as 1.2.3; ranges and latest are refused.
	Version string `json:"version" hcl:"version"`
	// SecretRef is a Secret in the namespace with the login of a private repository.
	SecretRef *LocalRef `json:"secretRef,omitempty" hcl:"secret_ref,block"`
	// CertSecretRef is a Secret in the namespace with a certificate authority, or with a client's certificate.
	CertSecretRef *LocalRef `json:"certSecretRef,omitempty" hcl:"cert_secret_ref,block"`
	// Verify says whose signature the chart must have. For oci alone.
	Verify *ChartVerify `json:"verify,omitempty" hcl:"verify,block"`
}

// LocalRef names an object of the same namespace.
type LocalRef struct {
	// Name is the object's.
	Name string `json:"name" hcl:"name"`
}

// ChartVerify says whose signature a chart must have.
type ChartVerify struct {
	// Provider is cosign (default) or notation.
	Provider string `json:"provider,omitempty" hcl:"provider,optional"`
	// SecretRef is a Secret with public keys. Needed for notation; for cosign that, or MatchOIDCIdentity.
	SecretRef *LocalRef `json:"secretRef,omitempty" hcl:"secret_ref,block"`
	// MatchOIDCIdentity lists the allowed signers without a key.
	MatchOIDCIdentity []OIDCIdentity `json:"matchOIDCIdentity,omitempty" hcl:"match_oidc_identity,block"`
}

// OIDCIdentity identifies the signer of a chart. Both fields are regular expressions.
type OIDCIdentity struct {
	// Issuer is the identity provider.
	Issuer string `json:"issuer" hcl:"issuer"`
	// Subject is the identity.
	Subject string `json:"subject" hcl:"subject"`
}

// ValuesReference names values in a Secret or a ConfigMap of the same namespace.
type ValuesReference struct {
	// Kind is Secret or ConfigMap.
	Kind string `json:"kind" hcl:"kind"`
	// Name is the object's.
	Name string `json:"name" hcl:"name"`
	// ValuesKey is the key in it. Default values.yaml.
	ValuesKey string `json:"valuesKey,omitempty" hcl:"values_key,optional"`
	// TargetPath is the path in the values for the key's text, such as db.password. Without it the key contains YAML
	// or JSON.
	TargetPath string `json:"targetPath,omitempty" hcl:"target_path,optional"`
	// Optional: a missing object counts as one without values.
	Optional bool `json:"optional,omitempty" hcl:"optional,optional"`
}

// The types of a chart's source.
const (
	ChartOCI  = "oci"
	ChartHelm = "helm"
)

// HelmRelease names a Helm release.
type HelmRelease struct {
	// Name is the release's, a DNS label of at most 53 characters. It can't be changed.
	Name string `json:"name" hcl:"name"`
	// Namespace is the scope, which is the default and the only value.
	Namespace string `json:"namespace,omitempty" hcl:"namespace,optional"`
}

// ChartValues are the values of a chart: Source says which of the others it has.
type ChartValues struct {
	// Source is inline, secretRef or configMapRef.
	Source string `json:"source" hcl:"source"`
	// Inline are the values themselves, of any shape. They must hold no secrets.
	Inline map[string]any `json:"inline,omitempty" hcl:"inline,optional"`
	// SecretRef is a key of a Secret in the namespace that holds the values as YAML or JSON.
	SecretRef *KeyRef `json:"secretRef,omitempty" hcl:"secret_ref,block"`
	// ConfigMapRef is the same of a ConfigMap.
	ConfigMapRef *KeyRef `json:"configMapRef,omitempty" hcl:"config_map_ref,block"`
}

// The sources of a chart's values.
const (
	ValuesInline    = "inline"
	ValuesSecret    = "secretRef"
	ValuesConfigMap = "configMapRef"
)

// KeyRef names a key of a Secret or a ConfigMap.
type KeyRef struct {
	// Name is the name of the Secret or the ConfigMap.
	Name string `json:"name" hcl:"name"`
	// Key is the key in it.
	Key string `json:"key" hcl:"key"`
}

// Integrations selects the parts of a cluster that an application uses.
type Integrations struct {
	// ExternalSecrets: its secrets come from the External Secrets operator.
	ExternalSecrets *Integration `json:"externalSecrets,omitempty" hcl:"external_secrets,block"`
	// CertManager: its certificates come from cert-manager.
	CertManager *Integration `json:"certManager,omitempty" hcl:"cert_manager,block"`
	// Ingress: it is reached from outside of the cluster.
	Ingress *IngressIntegration `json:"ingress,omitempty" hcl:"ingress,block"`
}

// Integration is on or off.
type Integration struct {
	// Enabled turns it on.
	Enabled bool `json:"enabled,omitempty" hcl:"enabled,optional"`
}

// IngressIntegration configures the address of an application.
type IngressIntegration struct {
	// Enabled turns it on.
	Enabled bool `json:"enabled,omitempty" hcl:"enabled,optional"`
	// Host is the host name. Needed if it is enabled.
	Host string `json:"host,omitempty" hcl:"host,optional"`
}

// IsPlaceholder reports whether the instance has no release.
func (s ApplicationInstanceSpec) IsPlaceholder() bool { return s.Mode == ModePlaceholder }
