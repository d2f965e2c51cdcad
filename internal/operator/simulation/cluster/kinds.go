package cluster

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a kind that the API server serves.
type kind struct {
	schema.GroupVersionKind
	resource string
	// global kinds have no namespace. A kind with a status has it as a subresource.
	global, status bool
}

// The served kinds.
var kinds = []kind{
	{GroupVersionKind: core("Namespace"), resource: "namespaces", global: true, status: true},
	{GroupVersionKind: core("Secret"), resource: "secrets"},
	{GroupVersionKind: core("ConfigMap"), resource: "configmaps"},
	{GroupVersionKind: core("ServiceAccount"), resource: "serviceaccounts"},
	{GroupVersionKind: core("Pod"), resource: "pods", status: true},
	{GroupVersionKind: Job, resource: "jobs", status: true},
	{GroupVersionKind: Workflow, resource: "workflows"},
	{GroupVersionKind: WorkflowTemplate, resource: "workflowtemplates"},
	{GroupVersionKind: Claim, resource: "persistentvolumeclaims", status: true},
	{GroupVersionKind: Backup, resource: "backups"},
	{GroupVersionKind: Restore, resource: "restores"},
	{GroupVersionKind: ReplicationSource, resource: "replicationsources", status: true},
	{GroupVersionKind: ReplicationDestination, resource: "replicationdestinations", status: true},
	{GroupVersionKind: VolumeSnapshot, resource: "volumesnapshots", status: true},
	{GroupVersionKind: Event, resource: "events"},
	{GroupVersionKind: webhooks, resource: "validatingwebhookconfigurations", global: true},
	{GroupVersionKind: Instance, resource: "applicationinstances", status: true},
	{GroupVersionKind: Operation, resource: "operations", status: true},
	{GroupVersionKind: Registration, resource: "clusters", status: true, global: true},
	{GroupVersionKind: HelmRelease, resource: "helmreleases", status: true},
	{GroupVersionKind: OCIRepository, resource: "ocirepositories", status: true},
	{GroupVersionKind: HelmRepository, resource: "helmrepositories", status: true},
}

// The kinds that worlds read and write.
var (
	Namespace      = core("Namespace")
	Secret         = core("Secret")
	ServiceAccount = core("ServiceAccount")
	Pod            = core("Pod")
	Claim          = core("PersistentVolumeClaim")
	Job            = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	Event          = schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}
	Instance       = schema.GroupVersionKind{Group: "apps.vworkspace.io", Version: "v1alpha1", Kind: "ApplicationInstance"}
	Operation      = schema.GroupVersionKind{Group: "ops.vworkspace.io", Version: "v1alpha1", Kind: "Operation"}
	Registration   = schema.GroupVersionKind{Group: "ops.vworkspace.io", Version: "v1alpha1", Kind: "Cluster"}
	HelmRelease    = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	OCIRepository  = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"}
	HelmRepository = schema.GroupVersionKind{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "HelmRepository"}
	Workflow       = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"}

	WorkflowTemplate = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "WorkflowTemplate"}

	Backup                 = schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "Backup"}
	Restore                = schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "Restore"}
	ReplicationSource      = schema.GroupVersionKind{Group: "volsync.backube", Version: "v1alpha1", Kind: "ReplicationSource"}
	ReplicationDestination = schema.GroupVersionKind{Group: "volsync.backube", Version: "v1alpha1", Kind: "ReplicationDestination"}
	VolumeSnapshot         = schema.GroupVersionKind{Group: "snapshot.storage.k8s.io", Version: "v1", Kind: "VolumeSnapshot"}
)

var webhooks = schema.GroupVersionKind{
	Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration",
}

func core(name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: name}
}

func kindOf(gvk schema.GroupVersionKind) (kind, bool) {
	for _, k := range kinds {
		if k.GroupVersionKind == gvk {
			return k, true
		}
	}
	return kind{}, false
}

func kindAt(group, version, resource string) (kind, bool) {
	for _, k := range kinds {
		if k.Group == group && k.Version == version && k.resource == resource {
			return k, true
		}
	}
	return kind{}, false
}

func (k kind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.resource}
}

// discovery answers a question for groups or kinds; nil if path asks for something else.
func discovery(path string) any {
	switch path {
	case "/api":
		return &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case "/apis":
		list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		seen := map[string]bool{"": true}
		for _, k := range kinds {
			if !seen[k.Group] {
				seen[k.Group] = true
				list.Groups = append(list.Groups, *group(k))
			}
		}
		return list
	}
	rest, isGroup := strings.CutPrefix(path, "/apis/")
	if path == "/api/v1" {
		rest, isGroup = "/v1", true
	}
	if !isGroup {
		return nil
	}
	name, version, hasVersion := strings.Cut(rest, "/")
	list := &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: strings.TrimPrefix(rest, "/"),
	}
	for _, k := range kinds {
		if k.Group != name || hasVersion && k.Version != version {
			continue
		}
		if !hasVersion {
			return group(k)
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: k.resource, Kind: k.Kind, Namespaced: !k.global, SingularName: strings.ToLower(k.Kind),
			Verbs: metav1.Verbs{"get", "list", "watch", "create", "update", "patch", "delete"},
		})
	}
	if len(list.APIResources) == 0 {
		return nil
	}
	return list
}

func group(k kind) *metav1.APIGroup {
	version := metav1.GroupVersionForDiscovery{GroupVersion: k.GroupVersion().String(), Version: k.Version}
	return &metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: k.Group,
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}
}
