package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// later checks the shape of the fields that parse today and work in a later version, and says so of each: a field that
// is accepted and does nothing would be a lie.
func (c *checker) later(s DeploymentSpec) {
	c.envFrom(s.EnvFrom)
	c.dependsOn(s.DependsOn)
	if s.Autoscale != nil {
		c.autoscale(*s.Autoscale, s.Replicas != nil)
	}
	if s.Release != nil {
		c.duration("release.timeout", s.Release.Timeout, time.Second, maxWait)
	}
	c.probes(s.Probes)
	c.hooks(s)
	c.inits(s.Inits)
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"env_from", len(s.EnvFrom) > 0},
		{"post_deploy", len(s.PostDeploy) > 0},
		{"depends_on", s.DependsOn != nil},
		{"build", s.Build != nil},
		{"release", s.Release != nil},
		{"autoscale", s.Autoscale != nil},
		{"probes", s.Probes != nil},
		{"on_deploy", s.OnDeploy != nil},
		{"on_probe", s.OnProbe != nil},
		{"inits", len(s.Inits) > 0},
	} {
		if field.set {
			c.add(field.name, "is not supported yet; leave it out")
		}
	}
}

func (c *checker) envFrom(entries []string) {
	c.each("env_from", entries, func(entry string) error {
		for part := range strings.SplitSeq(entry, "/") {
			if !dnsLabel.MatchString(part) || strings.Count(entry, "/") > 1 {
				return fmt.Errorf("%q is not scope/name or name", entry)
			}
		}
		return nil
	})
}

func (c *checker) dependsOn(d *DependsOn) {
	if d == nil {
		return
	}
	c.each("depends_on.assets", d.Assets, func(entry string) error {
		if n := strings.Count(entry, "."); n < 1 || n > 2 || strings.Contains("."+entry+".", "..") {
			return fmt.Errorf("%q is not name.key or scope.name.key", entry)
		}
		return nil
	})
}

func (c *checker) autoscale(a Autoscale, replicas bool) {
	if replicas {
		c.add("autoscale", "and replicas exclude each other")
	}
	c.between("autoscale.min", a.Min, 1, MaxReplicas)
	c.between("autoscale.max", a.Max, max(a.Min, 1), MaxReplicas)
	c.between("autoscale.cpu_target", a.CPUTarget, 1, 100)
	c.duration("autoscale.cooldown_up", a.CooldownUp, 0, maxWait)
	c.duration("autoscale.cooldown_down", a.CooldownDown, 0, maxWait)
}

func (c *checker) hooks(s DeploymentSpec) {
	if s.OnDeploy != nil {
		c.webhooks("on_deploy.success", s.OnDeploy.Success)
		c.webhooks("on_deploy.failure", s.OnDeploy.Failure)
	}
	if s.OnProbe != nil {
		c.webhooks("on_probe.failure", s.OnProbe.Failure)
		c.webhooks("on_probe.recovery", s.OnProbe.Recovery)
	}
}

func (c *checker) webhooks(field string, hooks []Webhook) {
	for i, hook := range hooks {
		at := index(field, i)
		if !strings.HasPrefix(hook.URL, "http://") && !strings.HasPrefix(hook.URL, "https://") {
			c.add(at+".url", "%q does not begin with http:// or https://", hook.URL)
		}
		c.oneOf(at+".method", hook.Method, "POST", "PUT", "PATCH", "DELETE")
		if len(hook.Body) > 0 && hook.File != "" {
			c.add(at+".file", "and body exclude each other")
		}
		if hook.File != "" && !strings.Contains(hook.File, "${asset.") {
			c.add(at+".file", "names no asset; write ${asset.name.key}")
		}
		for _, name := range slices.Sorted(maps.Keys(hook.Headers)) {
			if name == "" || strings.ContainsAny(name+hook.Headers[name], "\r\n\x00") {
				c.add(key(at+".headers", name), "is not a header")
			}
		}
	}
}

// reference is ${asset.…} or ${ref.…}, and anything else with a dot: what later versions resolve.
var reference = regexp.MustCompile(`\$\{[A-Za-z0-9_-]+\.[^}]*\}`)

func hasReference(text string) bool { return reference.MatchString(text) }

// references finds what would have to be resolved, anywhere in the spec.
func (c *checker) references(spec json.RawMessage) {
	if !bytes.Contains(spec, []byte("${")) {
		return
	}
	var value any
	if json.Unmarshal(spec, &value) == nil {
		c.walkReferences("", value)
	}
}

func (c *checker) walkReferences(path string, value any) {
	switch v := value.(type) {
	case string:
		if found := reference.FindString(v); found != "" {
			c.add(path, "%s is not supported yet: references to assets and other objects come later", found)
		}
	case []any:
		for i, item := range v {
			c.walkReferences(index(path, i), item)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			here := name
			if path != "" {
				here = key(path, name)
			}
			c.walkReferences(here, v[name])
		}
	}
}
