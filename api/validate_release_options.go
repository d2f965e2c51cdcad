package api

import (
	"regexp"
	"strings"
	"time"

	"tend.dev/tend/api/pattern"
)

// fluxDuration is a time as Flux takes it.
var fluxDuration = pattern.Lazy(`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`)

// chartAccess checks how a chart's repository is reached, and whose signature it needs.
func (c *checker) chartAccess(s ChartSource) {
	c.localRef("chart.secretRef", s.SecretRef)
	c.localRef("chart.certSecretRef", s.CertSecretRef)
	v := s.Verify
	if v == nil {
		return
	}
	c.oneOf("chart.verify.provider", v.Provider, "cosign", "notation")
	c.localRef("chart.verify.secretRef", v.SecretRef)
	for i, who := range v.MatchOIDCIdentity {
		at := index("chart.verify.matchOIDCIdentity", i)
		c.needed(at+".issuer", who.Issuer)
		c.needed(at+".subject", who.Subject)
		c.pattern(at+".issuer", who.Issuer)
		c.pattern(at+".subject", who.Subject)
	}
	switch keyless := len(v.MatchOIDCIdentity) > 0; {
	case s.SourceType == ChartHelm:
		c.add("chart.verify", "is for charts of an OCI registry: leave it out, or set sourceType to oci")
	case v.Provider == "notation" && v.SecretRef == nil:
		c.add("chart.verify.secretRef", "is required: the provider is notation")
	case v.SecretRef == nil && !keyless:
		c.add("chart.verify", "has neither secretRef nor matchOIDCIdentity: anybody's signature would do; give one of them")
	case v.SecretRef != nil && keyless:
		c.add("chart.verify",
			"has secretRef and matchOIDCIdentity: a signature is checked by a key, or by who made it; give one of them")
	}
}

// moreValues checks the values that an instance has from other objects, and what it waits for.
func (c *checker) moreValues(s ApplicationInstanceSpec) {
	for i, ref := range s.ValuesFrom {
		at := index("valuesFrom", i)
		c.needed(at+".kind", ref.Kind)
		c.oneOf(at+".kind", ref.Kind, "Secret", "ConfigMap")
		c.needed(at+".name", ref.Name)
		c.matching(at+".valuesKey", ref.ValuesKey, valuesKey(), "a key such as values.yaml")
		c.matching(at+".targetPath", ref.TargetPath, targetPath(), "a path such as db.password")
	}
	seen := map[string]bool{}
	for i, on := range s.DependsOn {
		at := index("dependsOn", i) + ".name"
		c.name(at, on.Name)
		if seen[on.Name] {
			c.add(at, "%q is named twice: keep one", on.Name)
		}
		seen[on.Name] = true
	}
}

var (
	valuesKey         = pattern.Lazy(`^[\-._a-zA-Z0-9]+$`)
	targetPath        = pattern.Lazy(`^([a-zA-Z0-9_\-.\\/]|\[[0-9]{1,5}\])+$`)
	serviceAccount    = pattern.Lazy(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	replacementDigest = pattern.Lazy(`^[a-z0-9]+:[a-f0-9]+$`)
)

func (c *checker) releaseOptions(s ReleaseOptions) {
	c.fluxDuration("timeout", s.Timeout)
	c.matching("serviceAccountName", s.ServiceAccountName, serviceAccount(), "the name of a service account")
	if s.Install != nil {
		c.fluxDuration("install.timeout", s.Install.Timeout)
		if r := s.Install.Remediation; r != nil {
			c.retries("install.remediation.retries", r.Retries)
		}
	}
	if s.Upgrade != nil {
		c.fluxDuration("upgrade.timeout", s.Upgrade.Timeout)
		if r := s.Upgrade.Remediation; r != nil {
			c.retries("upgrade.remediation.retries", r.Retries)
			c.oneOf("upgrade.remediation.strategy", r.Strategy, "rollback", "uninstall")
		}
	}
	if d := s.DriftDetection; d != nil {
		c.oneOf("driftDetection.mode", d.Mode, "enabled", "warn", "disabled")
		for i, rule := range d.Ignore {
			at := index("driftDetection.ignore", i)
			if len(rule.Paths) == 0 {
				c.add(at+".paths", "is required: JSON pointers such as /spec/replicas")
			}
			for j, path := range rule.Paths {
				if path != "" && !strings.HasPrefix(path, "/") {
					c.add(index(at+".paths", j), "%q is not a JSON pointer: want one such as /spec/replicas", path)
				}
			}
			c.selector(at+".target", rule.Target)
		}
	}
	for i, renderer := range s.PostRenderers {
		c.kustomize(index("postRenderers", i)+".kustomize", renderer.Kustomize)
	}
}

func (c *checker) kustomize(at string, k Kustomize) {
	for i, patch := range k.Patches {
		c.needed(index(at+".patches", i)+".patch", patch.Patch)
		c.selector(index(at+".patches", i)+".target", patch.Target)
	}
	for i, image := range k.Images {
		c.needed(index(at+".images", i)+".name", image.Name)
		c.matching(index(at+".images", i)+".digest", image.Digest, replacementDigest(), "a digest such as sha256:…")
	}
}

func (c *checker) selector(at string, s *ObjectSelector) {
	if s == nil {
		return
	}
	c.pattern(at+".group", s.Group)
	c.pattern(at+".version", s.Version)
	c.pattern(at+".kind", s.Kind)
	c.pattern(at+".name", s.Name)
	c.pattern(at+".namespace", s.Namespace)
}

// pattern checks a regular expression.
func (c *checker) pattern(field, text string) {
	if _, err := regexp.Compile(text); err != nil {
		c.add(field, "%q is not a regular expression: put a \\ before each literal special character", text)
	}
}

// matching checks a text, where it is given, by a pattern.
func (c *checker) matching(field, text string, pattern *regexp.Regexp, want string) {
	if text != "" && !pattern.MatchString(text) {
		c.add(field, "%q is not %s", text, want)
	}
}

func (c *checker) fluxDuration(field, text string) {
	if text == "" {
		return
	}
	parsed, err := time.ParseDuration(text)
	switch {
	case err != nil || !fluxDuration().MatchString(text):
		c.add(field, "%q is not a time such as 90s, 10m or 1h30m", text)
	case parsed < time.Second:
		c.add(field, "%q is less than a second: want a time such as 10m", text)
	}
}

func (c *checker) retries(field string, n *int) {
	if n != nil && *n < -1 {
		c.add(field, "%d is less than -1, which is without end", *n)
	}
}

func (c *checker) localRef(field string, ref *LocalRef) {
	if ref != nil {
		c.needed(field+".name", ref.Name)
	}
}
