package v1alpha1

// ReleaseOptions are fields that an instance passes on to Flux's HelmRelease v2 under the same names. A field that is
// left out is not set there, so Flux's default holds, except for upgrade.
type ReleaseOptions struct {
	// timeout limits each Helm action: an install, upgrade, rollback, test or uninstall. Flux's default is 5m.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
	// suspend tells Flux to leave the release alone. If the instance is deleted meanwhile, the release stays installed.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// serviceAccountName is the service account in the namespace with which Flux installs the chart. Without it, Flux uses
	// its own.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// install says what Flux does when the first installation fails.
	// +optional
	Install *Install `json:"install,omitempty"`
	// upgrade says what Flux does when an upgrade fails.
	// +optional
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// test says whether Flux runs the chart's tests after an install or upgrade.
	// +optional
	Test *Test `json:"test,omitempty"`
	// driftDetection says what Flux does when one of the chart's objects is changed in the cluster. Flux's default is
	// disabled.
	// +optional
	DriftDetection *DriftDetection `json:"driftDetection,omitempty"`
	// postRenderers change the chart's output before it is applied, in order.
	// +kubebuilder:validation:MaxItems=16
	// +optional
	PostRenderers []PostRenderer `json:"postRenderers,omitempty"`
}

// Duration is a length of time, such as 90s, 10m or 1h30m.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') || duration(self) >= duration('1s')",message="is less than a second: write a time such as 10m"
type Duration string

// Install says what Flux does when the first installation fails.
type Install struct {
	// timeout limits the installation. The default is spec.timeout.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
	// remediation says how often Flux retries a failed installation. It uninstalls the remains before each retry.
	// +optional
	Remediation *InstallRemediation `json:"remediation,omitempty"`
}

// InstallRemediation says how often Flux retries a failed installation.
type InstallRemediation struct {
	// retries is the number of retries; -1 means no limit. Flux's default is 0: a failed installation stays failed.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	Retries *int32 `json:"retries,omitempty"`
	// ignoreTestFailures says that a failed test is not a failed installation. The default is spec.test.ignoreFailures.
	// +optional
	IgnoreTestFailures *bool `json:"ignoreTestFailures,omitempty"`
	// remediateLastFailure makes Flux uninstall after the last failure too. Flux's default is false.
	// +optional
	RemediateLastFailure *bool `json:"remediateLastFailure,omitempty"`
}

// Upgrade says what Flux does when an upgrade fails.
type Upgrade struct {
	// timeout limits an upgrade. The default is spec.timeout.
	// +optional
	Timeout Duration `json:"timeout,omitempty"`
	// remediation says how often Flux retries a failed upgrade, and what it does before.
	// +optional
	Remediation *UpgradeRemediation `json:"remediation,omitempty"`
}

// UpgradeRemediation says how often Flux retries a failed upgrade, and what it does before.
type UpgradeRemediation struct {
	// retries is the number of retries; -1 means no limit. The default is 1.
	// +kubebuilder:validation:Minimum=-1
	// +optional
	Retries *int32 `json:"retries,omitempty"`
	// ignoreTestFailures says that a failed test is not a failed upgrade. The default is spec.test.ignoreFailures.
	// +optional
	IgnoreTestFailures *bool `json:"ignoreTestFailures,omitempty"`
	// remediateLastFailure makes Flux roll back after the last failure too. The default is true.
	// +optional
	RemediateLastFailure *bool `json:"remediateLastFailure,omitempty"`
	// strategy says what Flux does after a failure: rollback (Flux's default) or uninstall.
	// +kubebuilder:validation:Enum=rollback;uninstall
	// +optional
	Strategy string `json:"strategy,omitempty"`
}

// Test says whether Flux runs the chart's tests.
type Test struct {
	// enable makes Flux run them. The default is false.
	// +optional
	Enable bool `json:"enable,omitempty"`
	// ignoreFailures says that a failed test is not a failure of the release. The default is false.
	// +optional
	IgnoreFailures bool `json:"ignoreFailures,omitempty"`
}

// DriftMode says what Flux does about a change in the cluster.
//
// +kubebuilder:validation:Enum=enabled;warn;disabled
type DriftMode string

// DriftDetection says what Flux does when one of the chart's objects is changed in the cluster.
type DriftDetection struct {
	// mode is enabled (undo the change), warn (report it) or disabled (the default).
	// +optional
	Mode DriftMode `json:"mode,omitempty"`
	// ignore lists the parts of objects that may differ.
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Ignore []IgnoreRule `json:"ignore,omitempty"`
}

// IgnoreRule names a part of objects that may differ.
type IgnoreRule struct {
	// paths are JSON pointers, such as /spec/replicas. An empty one means the whole object.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:Pattern=`^(/.*)?$`
	// +required
	Paths []string `json:"paths"`
	// target selects the objects. Without it, the rule applies to all objects of the chart.
	// +optional
	Target *Selector `json:"target,omitempty"`
}

// Selector selects the chart's objects that match all given fields. group, version, kind, name and namespace are
// regular expressions.
type Selector struct {
	// group is the group of the object's API.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Group string `json:"group,omitempty"`
	// version is the version of the object's API.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Version string `json:"version,omitempty"`
	// kind is the object's kind.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Kind string `json:"kind,omitempty"`
	// name is the object's name.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`
	// namespace is the object's namespace.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// labelSelector selects by labels, such as app=web.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	LabelSelector string `json:"labelSelector,omitempty"`
	// annotationSelector selects by annotations, such as team=a.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	AnnotationSelector string `json:"annotationSelector,omitempty"`
}

// PostRenderer changes the output of a chart.
type PostRenderer struct {
	// kustomize changes the output as Kustomize does.
	// +required
	Kustomize Kustomize `json:"kustomize"`
}

// Kustomize changes objects as Kustomize does.
type Kustomize struct {
	// patches change objects.
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Patches []Patch `json:"patches,omitempty"`
	// images replace names, tags and digests of images.
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Images []Image `json:"images,omitempty"`
}

// Patch changes objects.
type Patch struct {
	// patch is a strategic merge patch or a JSON patch, as YAML or JSON.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +required
	Patch string `json:"patch"`
	// target selects the objects. Without it, the patch itself names one.
	// +optional
	Target *Selector `json:"target,omitempty"`
}

// Image replaces an image.
type Image struct {
	// name is the image's name in the chart, without its tag.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +required
	Name string `json:"name"`
	// newName replaces the name.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	NewName string `json:"newName,omitempty"`
	// newTag replaces the tag.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	NewTag string `json:"newTag,omitempty"`
	// digest replaces the tag by a digest.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Digest string `json:"digest,omitempty"`
}
