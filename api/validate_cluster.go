package api

import (
	"net/url"
	"slices"
	"strings"

	"tend.dev/tend/api/pattern"
)

// The bounds of what is delivered to clusters.
const (
	maxDisplayName = 128
	// maxHelmRelease is Helm's own.
	maxHelmRelease = 53
)

func (c *checker) cluster(s ClusterSpec) {
	if len(s.DisplayName) > maxDisplayName || strings.ContainsAny(s.DisplayName, "\r\n\x00") {
		c.add("displayName", "is one line of at most %d characters", maxDisplayName)
	}
	for i, namespace := range s.Namespaces {
		c.name(index("namespaces", i), namespace)
	}
	c.oneOf("drift", s.Drift, DriftHeal, DriftReport)
}

func (c *checker) applicationInstance(s ApplicationInstanceSpec) {
	c.name("cluster", s.Cluster)
	c.needed("appRef.catalogId", s.AppRef.CatalogID)
	c.oneOf("mode", s.Mode, ModeManaged, ModePlaceholder)
	options := s.ReleaseOptions
	for _, part := range []struct {
		field           string
		given, optional bool
	}{
		{"chart", s.Chart != nil, false}, {"release", s.Release != nil, false}, {"values", s.Values != nil, false},
		{"valuesFrom", s.ValuesFrom != nil, true}, {"dependsOn", s.DependsOn != nil, true},
		{"install", options.Install != nil, true},
		{"upgrade", options.Upgrade != nil, true}, {"test", options.Test != nil, true},
		{"driftDetection", options.DriftDetection != nil, true}, {"postRenderers", options.PostRenderers != nil, true},
	} {
		switch {
		case part.given && s.IsPlaceholder():
			c.add(part.field, "a placeholder has no release: leave it out, or leave out mode")
		case !part.given && !part.optional && !s.IsPlaceholder():
			c.add(part.field, "is required; or set mode to placeholder")
		}
	}
	if s.Chart != nil {
		c.chart(*s.Chart)
		c.chartAccess(*s.Chart)
	}
	if s.Release != nil {
		c.name("release.name", s.Release.Name)
		if len(s.Release.Name) > maxHelmRelease {
			c.add("release.name", "is longer than the %d characters that Helm takes", maxHelmRelease)
		}
	}
	if s.Values != nil {
		c.chartValues(*s.Values)
	}
	c.moreValues(s)
	c.releaseOptions(options)
	if i := s.Integrations; i != nil && i.Ingress != nil && i.Ingress.Enabled {
		c.needed("integrations.ingress.host", i.Ingress.Host)
	}
}

// exactVersion matches a semantic version. A leading v is part of some charts' versions.
var exactVersion = pattern.Lazy(`^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

func (c *checker) chart(s ChartSource) {
	scheme := map[string]string{ChartOCI: "oci", ChartHelm: "https"}[s.SourceType]
	parsed, err := url.Parse(s.URL)
	switch {
	case s.SourceType == "":
		c.add("chart.sourceType", "is required: oci or helm")
	case scheme == "":
		c.add("chart.sourceType", "%q is not oci or helm", s.SourceType)
	case s.URL == "":
		c.add("chart.url", "is required")
	case err != nil || parsed.Host == "" || parsed.Scheme != scheme:
		c.add("chart.url", "%q is not the URL of a source of type %s: want %s://HOST/…", s.URL, s.SourceType, scheme)
	case parsed.User != nil:
		c.add("chart.url", "has a login: charts are fetched with what the cluster is given, not with what a manifest shows")
	}
	c.needed("chart.name", s.Name)
	if !exactVersion().MatchString(s.Version) {
		c.add("chart.version", "%q is not an exact version such as 1.2.3: ranges and latest would change without a manifest",
			s.Version)
	}
}

func (c *checker) chartValues(s ChartValues) {
	given := map[string]bool{ValuesInline: s.Inline != nil, ValuesSecret: s.SecretRef != nil,
		ValuesConfigMap: s.ConfigMapRef != nil}
	sources := []string{ValuesInline, ValuesSecret, ValuesConfigMap}
	if !slices.Contains(sources, s.Source) {
		c.add("values.source", "%q is not %s", s.Source, orList(sources))
		return
	}
	for _, source := range sources {
		switch {
		case source == s.Source && !given[source]:
			c.add("values."+source, "is required: values.source names it")
		case source != s.Source && given[source]:
			c.add("values."+source, "is given, and values.source is %s: give one of them", s.Source)
		}
	}
	for _, ref := range []struct {
		field string
		ref   *KeyRef
	}{{"values.secretRef", s.SecretRef}, {"values.configMapRef", s.ConfigMapRef}} {
		if ref.ref != nil {
			c.needed(ref.field+".name", ref.ref.Name)
			c.needed(ref.field+".key", ref.ref.Key)
		}
	}
	for _, found := range InlineSecrets(s.Inline) {
		at := "values.inline" + found
		if !strings.HasPrefix(found, "[") {
			at = "values.inline." + found
		}
		c.add(at, "is a secret, which a manifest would show: put it into a Secret of the cluster, and name that by values.secretRef or the chart's own existingSecret")
	}
}

func (c *checker) operation(s OperationSpec) {
	c.name("cluster", s.Cluster)
	c.oneOf("targetRef.apiVersion", s.TargetRef.APIVersion, AppsAPIVersion)
	c.oneOf("targetRef.kind", s.TargetRef.Kind, ApplicationInstanceKind)
	c.name("targetRef.name", s.TargetRef.Name)
	c.needed("type", s.Type)
	c.oneOf("type", s.Type, OperationTypes...)
	c.needed("engine", s.Engine)
	c.oneOf("engine", s.Engine, OperationEngines...)
	if a := s.Approvals; a != nil && a.Claim != "" &&
		(!strings.HasPrefix(a.Claim, "vws1.") || strings.Count(a.Claim, ".") != 2) {
		c.add("approvals.claim", "is not a claim: want vws1.BODY.DIGEST")
	}
}

// needed checks that a text is given and not blank.
func (c *checker) needed(field, text string) {
	if strings.TrimSpace(text) == "" {
		c.add(field, "is required")
	}
}

// inScope checks what of a spec depends on its object's scope.
func (c *checker) inScope(o Object) {
	if o.Kind != KindApplicationInstance {
		return
	}
	spec, err := DecodeStrict[ApplicationInstanceSpec](o.Spec)
	if err != nil {
		return
	}
	if spec.Release != nil && spec.Release.Namespace != "" && spec.Release.Namespace != o.Scope {
		c.add("release.namespace", "%q is not the object's scope %q, which is its namespace: leave it out",
			spec.Release.Namespace, o.Scope)
	}
	for i, on := range spec.DependsOn {
		if on.Name == o.Name {
			c.add(index("dependsOn", i)+".name", "%q is the object itself: leave it out", on.Name)
		}
	}
}
