package bounds

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// Policy limits the objects that an operator may work on. The zero value allows everything in namespaces labelled for
// it.
type Policy struct {
	// AnyNamespace also allows namespaces without the label managed-by=vworkspace.
	AnyNamespace bool
	// RequireManagedBy refuses objects without the label app.vworkspace.io/managed-by=control-plane.
	RequireManagedBy bool
	// Charts are the allowed addresses of charts: each is a repository, or a folder of repositories. Default: any.
	Charts []string
}

// Reason names the rule that refuses an object.
type Reason string

// The rules.
const (
	NamespaceNotGated Reason = "NamespaceNotGated"
	NotManaged        Reason = "NotManaged"
	OtherCluster      Reason = "OtherCluster"
	TypeNotAllowed    Reason = "OperationTemplateNotAllowedInNamespace"
	ChartNotAllowed   Reason = "ChartNotAllowed"
)

// RefusalError is the reason why an object is not worked on. The refusal ends when what it names is changed.
type RefusalError struct {
	Reason  Reason
	Message string
}

// Error implements error.
func (r *RefusalError) Error() string { return string(r.Reason) + ": " + r.Message }

// Instance returns why an instance in a namespace of a cluster must be left alone, or nil. cluster is empty if the
// cluster has no identity.
func (p Policy) Instance(
	namespace metav1.Object, cluster string, instance *appsv1alpha1.ApplicationInstance,
) *RefusalError {
	if refusal := p.object(namespace, cluster, instance); refusal != nil {
		return refusal
	}
	chart := instance.Spec.Chart
	if chart == nil || len(p.Charts) == 0 ||
		slices.ContainsFunc(p.Charts, func(allowed string) bool { return below(address(chart), allowed) }) {
		return nil
	}
	return &RefusalError{ChartNotAllowed, fmt.Sprintf(
		"spec.chart: %s is not allowed, but charts of %s are: use one, or add it to the operator's --chart-allow",
		address(chart), strings.Join(p.Charts, ", "))}
}

// Operation returns why an operation in a namespace of a cluster must not start, or nil.
func (p Policy) Operation(namespace metav1.Object, cluster string, op *opsv1alpha1.Operation) *RefusalError {
	if refusal := p.object(namespace, cluster, op); refusal != nil {
		return refusal
	}
	if Allows(namespace, op.Spec.Type) {
		return nil
	}
	return &RefusalError{TypeNotAllowed, fmt.Sprintf("spec.type: %s is not allowed in the namespace %s: add it to the annotation %s, now %q",
		op.Spec.Type, namespace.GetName(), identity.AnnotationAllowedTypes,
		namespace.GetAnnotations()[identity.AnnotationAllowedTypes])}
}

func (p Policy) object(namespace metav1.Object, cluster string, object metav1.Object) *RefusalError {
	labels := object.GetLabels()
	switch given := labels[identity.LabelClusterID]; {
	case !p.AnyNamespace && !Open(namespace):
		return &RefusalError{NamespaceNotGated, fmt.Sprintf(
			"the operator doesn't work in the namespace %s: kubectl label namespace %s %s=%s",
			namespace.GetName(), namespace.GetName(), identity.LabelNamespaceGate, identity.NamespaceGate)}
	case p.RequireManagedBy && labels[identity.LabelManagedBy] != identity.ManagedBy:
		return &RefusalError{NotManaged, fmt.Sprintf("it lacks the label %s=%s, which the operator's --require-managed-by requires",
			identity.LabelManagedBy, identity.ManagedBy)}
	case given != "" && cluster != "" && given != cluster:
		return &RefusalError{OtherCluster, fmt.Sprintf("its label %s is %s, and this cluster is %s: apply it there, or correct the label",
			identity.LabelClusterID, given, cluster)}
	}
	return nil
}

// Open reports whether a namespace is labelled for the operator.
func Open(namespace metav1.Object) bool {
	labels := namespace.GetLabels()
	return labels[identity.LabelNamespaceGate] == identity.NamespaceGate ||
		labels[identity.LabelNamespaceGateLong] == identity.NamespaceGate
}

// Allows reports whether a namespace allows a type of operations. Without the annotation, or with an empty one, it
// allows all.
func Allows(namespace metav1.Object, kind opsv1alpha1.OperationType) bool {
	given := namespace.GetAnnotations()[identity.AnnotationAllowedTypes]
	if strings.TrimSpace(given) == "" {
		return true
	}
	for allowed := range strings.SplitSeq(given, ",") {
		if strings.TrimSpace(allowed) == string(kind) {
			return true
		}
	}
	return false
}

// address returns the address of a chart. In an OCI registry it includes the chart's name, so the name could also lead
// up.
func address(chart *appsv1alpha1.Chart) string {
	if chart.SourceType == appsv1alpha1.ChartSourceOCI {
		return strings.TrimRight(chart.URL, "/") + "/" + chart.Name
	}
	return chart.URL
}

// below reports whether an address equals another one or lies below it. An address that leads up again doesn't.
func below(address, parent string) bool {
	rest, found := strings.CutPrefix(strings.TrimRight(address, "/"), strings.TrimRight(parent, "/"))
	return found && (rest == "" || rest[0] == '/' && !strings.Contains(rest, "..") && !strings.Contains(rest, "%"))
}

// AddCharts adds addresses, separated by commas, to Policy.Charts, or returns the fault of one.
func (p *Policy) AddCharts(addresses string) error {
	for each := range strings.SplitSeq(addresses, ",") {
		each = strings.TrimSpace(each)
		if err := CheckChart(each); err != nil {
			return err
		}
		p.Charts = append(p.Charts, each)
	}
	return nil
}

// CheckChart returns the fault of an address for Policy.Charts.
func CheckChart(address string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "oci" && parsed.Scheme != "https" || parsed.RawQuery != "" ||
		parsed.User != nil {
		return fmt.Errorf("%q must be an address such as oci://ghcr.io/team or https://charts.example.com", address)
	}
	return nil
}
