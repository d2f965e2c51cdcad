package v1alpha1

// LocalRef names an object in the instance's namespace.
type LocalRef struct {
	// name is the object's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// Verify says whose signature a chart must have.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) || has(self.matchOIDCIdentity)",message="secretRef or matchOIDCIdentity is required: without either anybody's signature would do"
// +kubebuilder:validation:XValidation:rule="!has(self.matchOIDCIdentity) || !has(self.secretRef)",message="give secretRef or matchOIDCIdentity, not both: a signature is checked by a key, or by who made it"
// +kubebuilder:validation:XValidation:rule="self.provider != 'notation' || has(self.secretRef)",message="secretRef is required: provider is notation"
type Verify struct {
	// provider is cosign, the default, or notation.
	// +kubebuilder:validation:Enum=cosign;notation
	// +kubebuilder:default=cosign
	// +optional
	Provider string `json:"provider,omitempty"`
	// secretRef names a Secret with the public keys (*.pub) of cosign, or with the trust policy and certificates of
	// notation.
	// +optional
	SecretRef *LocalRef `json:"secretRef,omitempty"`
	// matchOIDCIdentity lists who may have signed, if cosign signs without a key.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +optional
	MatchOIDCIdentity []OIDCIdentity `json:"matchOIDCIdentity,omitempty"`
}

// OIDCIdentity identifies the signer of a chart. Both fields are regular expressions.
type OIDCIdentity struct {
	// issuer is the identity provider, such as ^https://token\.actions\.githubusercontent\.com$.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Issuer string `json:"issuer"`
	// subject is the signer's identity at the issuer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Subject string `json:"subject"`
}

// ValuesReference names values in a Secret or ConfigMap in the instance's namespace.
type ValuesReference struct {
	// kind is Secret or ConfigMap.
	// +kubebuilder:validation:Enum=Secret;ConfigMap
	// +required
	Kind string `json:"kind"`
	// name is the object's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// valuesKey is the key that holds the values, or the single value for targetPath. Flux's default is values.yaml.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[\-._a-zA-Z0-9]+$`
	// +optional
	ValuesKey string `json:"valuesKey,omitempty"`
	// targetPath is the path in the values at which the key's text is inserted, such as db.password. Without it, the key
	// holds a values document.
	// +kubebuilder:validation:MaxLength=250
	// +kubebuilder:validation:Pattern=`^([a-zA-Z0-9_\-.\\\/]|\[[0-9]{1,5}\])+$`
	// +optional
	TargetPath string `json:"targetPath,omitempty"`
	// optional allows the object to be missing: it then adds no values. The default is false.
	// +optional
	Optional bool `json:"optional,omitempty"`
}
