package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is the kind of an ApplicationInstance.
const Kind = "ApplicationInstance"

// GroupVersion is the group and the version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "apps.vworkspace.io", Version: "v1alpha1"}

// AddToScheme registers this package's kinds.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ApplicationInstance{}, &ApplicationInstanceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
