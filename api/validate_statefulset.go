package api

import (
	"slices"
	"strings"
)

func (c *checker) statefulSet(s StatefulSetSpec) {
	common := s.DeploymentSpec
	common.HealthCheck = "" // any text: a path, or a command that an older system's plugin wrote
	c.deployment(common)
	if s.Autoscale != nil {
		c.add("autoscale", "is for deployments: adding and removing ordinals by load would move data")
	}
	if s.Global() {
		c.add("mode", "global is for deployments: an ordinal is not a node")
	}
	if len(s.PostDeploy) > 0 {
		c.add("post_deploy", "is for deployments")
	}
	c.inOrder(s)
	var names []string
	for i, claim := range s.VolumeClaims {
		field := index("volume_claims", i)
		c.name(field+".name", claim.Name)
		if slices.Contains(names, claim.Name) {
			c.add(field+".name", "%q is used twice", claim.Name)
		}
		names = append(names, claim.Name)
		c.claimPath(field+".mount_path", claim.MountPath)
		c.claimSize(field+".size", claim.Size)
	}
}

func (c *checker) claimPath(field, target string) {
	if err := checkTarget(target); err != nil {
		c.addError(field, err)
		return
	}
	if strings.Contains(target, ":") { // it would end the path, and begin a mode
		c.add(field, "%q holds a colon, which no mount can", target)
	}
	c.mounts(field, target)
}

// inOrder refuses what would have two containers of an ordinal, or several ordinals down at once.
func (c *checker) inOrder(s StatefulSetSpec) {
	if s.Strategy == nil {
		return
	}
	if s.Strategy.Order == OrderStartFirst {
		c.add("strategy.order", "is stop-first for statefulsets: two containers can't have one ordinal's name and volumes")
	}
	if s.Strategy.MaxParallel > 1 {
		c.add("strategy.max_parallel", "is 1 for statefulsets: ordinals are replaced one at a time")
	}
}

// claimSize takes what other fields call a size (64m) and what they call memory (10Gi): it is shown to people alone.
func (c *checker) claimSize(field, text string) {
	if text == "" {
		return
	}
	if _, err := ParseMemory(text); err != nil {
		c.size(field, text)
	}
}
