package instance

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/labels"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
)

// invalid returns a fault of a spec that the CRD's rules can't see.
func invalid(instance *appsv1alpha1.ApplicationInstance) string {
	spec := &instance.Spec
	switch {
	case spec.Chart == nil || spec.Release == nil || spec.Values == nil:
		return "chart, release and values are required: mode is managed"
	case spec.Release.Namespace != instance.Namespace:
		return fmt.Sprintf("release.namespace is %s: it must be %s, the instance's own namespace", spec.Release.Namespace, instance.Namespace)
	}
	if drift := spec.DriftDetection; drift != nil {
		for i, rule := range drift.Ignore {
			if fault := invalidSelector(fmt.Sprintf("driftDetection.ignore[%d].target", i), rule.Target); fault != "" {
				return fault
			}
		}
	}
	for i, renderer := range spec.PostRenderers {
		for j, patch := range renderer.Kustomize.Patches {
			if fault := invalidSelector(fmt.Sprintf("postRenderers[%d].kustomize.patches[%d].target", i, j), patch.Target); fault != "" {
				return fault
			}
		}
	}
	if verify := spec.Chart.Verify; verify != nil {
		for i, who := range verify.MatchOIDCIdentity {
			at := fmt.Sprintf("chart.verify.matchOIDCIdentity[%d]", i)
			if fault := invalidPattern(at+".issuer", who.Issuer) + invalidPattern(at+".subject", who.Subject); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// invalidSelector returns the fault of a selector of objects.
func invalidSelector(at string, s *appsv1alpha1.Selector) string {
	if s == nil {
		return ""
	}
	for _, field := range []struct{ name, pattern string }{
		{"group", s.Group}, {"version", s.Version}, {"kind", s.Kind}, {"name", s.Name}, {"namespace", s.Namespace},
	} {
		if fault := invalidPattern(at+"."+field.name, field.pattern); fault != "" {
			return fault
		}
	}
	for _, field := range []struct{ name, selector string }{{"labelSelector", s.LabelSelector}, {"annotationSelector", s.AnnotationSelector}} {
		if _, err := labels.Parse(field.selector); err != nil {
			return fmt.Sprintf("%s.%s is not a selector: %v: write it as app=web, or app in (web, api)", at, field.name, err)
		}
	}
	return ""
}

// invalidPattern returns the fault of a regular expression.
func invalidPattern(at, pattern string) string {
	if _, err := regexp.Compile(pattern); err != nil {
		return fmt.Sprintf("%s is not a regular expression: %v: put a \\ before each literal special character", at, err)
	}
	return ""
}
