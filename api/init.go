package api

import (
	"slices"
	"strings"
	"time"
)

// DefaultInitTimeout limits one attempt of an init container.
const DefaultInitTimeout = 10 * time.Minute

// MaxInitRetries bounds Init.Retries.
const MaxInitRetries = 5

// Init is a container run to its end before the main one of a pod starts for the first time, in order. It has the main
// container's environment, volumes, networks, extra hosts, rights and log limits, and neither ports nor DNS names.
type Init struct {
	// Name is part of the container's name; each is used once.
	Name string `json:"name" hcl:"name,label"`
	// Image defaults to the main container's. Another one is pulled where the node doesn't have it.
	Image string `json:"image,omitempty" hcl:"image,optional"`
	// Command is the argument list that runs; the image's ENTRYPOINT, if any, precedes it.
	Command []string `json:"command,omitempty" hcl:"command,optional"`
	// Timeout is the time after which an attempt is stopped and counts as failed. Default 10m, at least 1s.
	Timeout Duration `json:"timeout,omitempty" hcl:"timeout,optional"`
	// Retries is the number of times that a failed attempt is repeated, 2 s later. 0 to 5, default 0.
	Retries int `json:"retries,omitempty" hcl:"retries,optional"`
	// Ulimits stand in place of the main container's where they are set.
	Ulimits map[string]string `json:"ulimits,omitempty" hcl:"ulimits,optional"`
	// DockerOptions stand in place of the main container's where they are set.
	DockerOptions []string `json:"docker_options,omitempty" hcl:"docker_options,optional"`
	// Resources are the init's own; those of the main container don't bound it.
	Resources *Resources `json:"resources,omitempty" hcl:"resources,block"`
}

// ForInit is the spec an init container is made from.
func (s DeploymentSpec) ForInit(init Init) DeploymentSpec {
	s.Command, s.Entrypoint = init.Command, nil
	s.Ports, s.Labels, s.Hostname = nil, nil, ""
	s.Resources = init.Resources
	if init.Image != "" {
		s.Image = init.Image
	}
	if len(init.Ulimits) > 0 {
		s.Ulimits = init.Ulimits
	}
	if len(init.DockerOptions) > 0 {
		s.DockerOptions = init.DockerOptions
		if slices.ContainsFunc(init.DockerOptions, namesUser) {
			s.User = "" // what prepares volumes is often another user than who works with them
		}
	}
	return s
}

func namesUser(option string) bool {
	return strings.HasPrefix(option, "-u") || option == "--user" || strings.HasPrefix(option, "--user=")
}
