package api

// ReleaseOptions are fields of Flux's HelmRelease that an application instance passes on under the same names.
type ReleaseOptions struct {
	// Timeout is the limit of one action of Helm. Default 5m.
	Timeout string `json:"timeout,omitempty" hcl:"timeout,optional"`
	// Suspend asks Flux to leave the release as it is.
	Suspend bool `json:"suspend,omitempty" hcl:"suspend,optional"`
	// ServiceAccountName is the service account of the namespace that the chart is installed as. Default Flux's own.
	ServiceAccountName string `json:"serviceAccountName,omitempty" hcl:"service_account_name,optional"`
	// Install is the reaction to a failure of the first installation.
	Install *HelmInstall `json:"install,omitempty" hcl:"install,block"`
	// Upgrade says what happens when an upgrade fails.
	Upgrade *HelmUpgrade `json:"upgrade,omitempty" hcl:"upgrade,block"`
	// Test configures the chart's tests.
	Test *HelmTest `json:"test,omitempty" hcl:"test,block"`
	// DriftDetection is the reaction to a change of the chart's objects in the cluster.
	DriftDetection *DriftDetection `json:"driftDetection,omitempty" hcl:"drift_detection,block"`
	// PostRenderers change what the chart renders, in their order.
	PostRenderers []PostRenderer `json:"postRenderers,omitempty" hcl:"post_renderers,block"`
}

// HelmInstall is the reaction to a failure of the first installation.
type HelmInstall struct {
	// Timeout is its limit. Default the release's.
	Timeout string `json:"timeout,omitempty" hcl:"timeout,optional"`
	// Remediation sets the number of retries.
	Remediation *InstallRemediation `json:"remediation,omitempty" hcl:"remediation,block"`
}

// InstallRemediation configures the retries of an installation. What is there is uninstalled before each.
type InstallRemediation struct {
	// Retries is the number of retries; -1 is without end. Default 0.
	Retries *int `json:"retries,omitempty" hcl:"retries,optional"`
	// IgnoreTestFailures: a failed test doesn't count as a failure. Default test.ignoreFailures.
	IgnoreTestFailures *bool `json:"ignoreTestFailures,omitempty" hcl:"ignore_test_failures,optional"`
	// RemediateLastFailure: it is uninstalled after the last failure too. Default false.
	RemediateLastFailure *bool `json:"remediateLastFailure,omitempty" hcl:"remediate_last_failure,optional"`
}

// HelmUpgrade configures what happens when an upgrade fails.
type HelmUpgrade struct {
	// Timeout is its limit. Default the release's.
	Timeout string `json:"timeout,omitempty" hcl:"timeout,optional"`
	// Remediation sets the number of retries, and the action before each.
	Remediation *UpgradeRemediation `json:"remediation,omitempty" hcl:"remediation,block"`
}

// UpgradeRemediation sets the number of retries of an upgrade, and the action before each.
type UpgradeRemediation struct {
	// Retries is the number of retries; -1 is without end. Default 1.
	Retries *int `json:"retries,omitempty" hcl:"retries,optional"`
	// IgnoreTestFailures: a failed test doesn't count as a failure. Default test.ignoreFailures.
	IgnoreTestFailures *bool `json:"ignoreTestFailures,omitempty" hcl:"ignore_test_failures,optional"`
	// RemediateLastFailure: it is rolled back after the last failure too. Default true.
	RemediateLastFailure *bool `json:"remediateLastFailure,omitempty" hcl:"remediate_last_failure,optional"`
	// Strategy is rollback (default) or uninstall.
	Strategy string `json:"strategy,omitempty" hcl:"strategy,optional"`
}

// HelmTest configures a chart's tests.
type HelmTest struct {
	// Enable runs them after an install and an upgrade.
	Enable bool `json:"enable,omitempty" hcl:"enable,optional"`
	// IgnoreFailures: a failed test doesn't fail the release.
	IgnoreFailures bool `json:"ignoreFailures,omitempty" hcl:"ignore_failures,optional"`
}

// DriftDetection is the reaction to a change of a chart's objects in the cluster.
type DriftDetection struct {
	// Mode is enabled (the change is undone), warn (it is reported) or disabled (default).
	Mode string `json:"mode,omitempty" hcl:"mode,optional"`
	// Ignore is the list of fields that may differ.
	Ignore []IgnoreRule `json:"ignore,omitempty" hcl:"ignore,block"`
}

// IgnoreRule is a part of objects that may differ.
type IgnoreRule struct {
	// Paths are JSON pointers, as /spec/replicas.
	Paths []string `json:"paths" hcl:"paths"`
	// Target selects the objects; without it, all.
	Target *ObjectSelector `json:"target,omitempty" hcl:"target,block"`
}

// ObjectSelector selects objects of a chart by all that is given. The first five are regular expressions.
type ObjectSelector struct {
	// Group is the group of the API.
	Group string `json:"group,omitempty" hcl:"group,optional"`
	// Version is the version of the API.
	Version string `json:"version,omitempty" hcl:"version,optional"`
	// Kind is the object's.
	Kind string `json:"kind,omitempty" hcl:"kind,optional"`
	// Name is the object's.
	Name string `json:"name,omitempty" hcl:"name,optional"`
	// Namespace is the object's.
	Namespace string `json:"namespace,omitempty" hcl:"namespace,optional"`
	// LabelSelector selects by labels, as app=web.
	LabelSelector string `json:"labelSelector,omitempty" hcl:"label_selector,optional"`
	// AnnotationSelector selects by annotations.
	AnnotationSelector string `json:"annotationSelector,omitempty" hcl:"annotation_selector,optional"`
}

// PostRenderer changes what a chart renders.
type PostRenderer struct {
	// Kustomize changes it as Kustomize does.
	Kustomize Kustomize `json:"kustomize" hcl:"kustomize,block"`
}

// Kustomize changes objects as Kustomize does.
type Kustomize struct {
	// Patches change objects.
	Patches []KustomizePatch `json:"patches,omitempty" hcl:"patches,block"`
	// Images replace images.
	Images []KustomizeImage `json:"images,omitempty" hcl:"images,block"`
}

// KustomizePatch changes objects.
type KustomizePatch struct {
	// Patch is a strategic merge patch or a JSON patch, as YAML or JSON.
	Patch string `json:"patch" hcl:"patch"`
	// Target selects the objects; without it the patch names one.
	Target *ObjectSelector `json:"target,omitempty" hcl:"target,block"`
}

// KustomizeImage replaces an image.
type KustomizeImage struct {
	// Name is the image as the chart names it, without its tag.
	Name string `json:"name" hcl:"name"`
	// NewName is the name in its place.
	NewName string `json:"newName,omitempty" hcl:"new_name,optional"`
	// NewTag is the tag in place of the chart's.
	NewTag string `json:"newTag,omitempty" hcl:"new_tag,optional"`
	// Digest is the digest in place of a tag.
	Digest string `json:"digest,omitempty" hcl:"digest,optional"`
}
