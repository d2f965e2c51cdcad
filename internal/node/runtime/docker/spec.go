package docker

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
	"tend.dev/tend/internal/node/runtime"
)

// machine holds the facts about the node that the mapping needs besides the spec.
type machine struct {
	cluster, node string
	network       string // the platform network
	limits        hardLimits
}

// request is a container in the form of the engine's API. Endpoints are in the order in which the networks are joined;
// the container is created with the first.
type request struct {
	client.ContainerCreateOptions
	endpoints []endpoint
	legacy    legacyFields
	// nodeNamed is set if the first extra host is the node's name, added by Tend.
	nodeNamed bool
	// shared are names in the network that containers of other nodes may have too.
	shared []string
}

// endpoint is a network to join.
type endpoint struct {
	network  string
	settings *network.EndpointSettings
}

// newRequest maps a spec to the engine's API: the fields of the spec first, docker_options over them. It is pure.
func newRequest(spec runtime.ContainerSpec, m machine) (*request, error) {
	options, err := dockerflags.Parse(spec.Spec.DockerOptions)
	if err != nil {
		return nil, invalid("docker_options", err)
	}
	if spec.Private {
		spec.Aliases, spec.Spec.Hostname = nil, ""
		options.Hostname, options.Domainname = "", ""
		options.Publish, options.PublishAll, options.NetworkAliases = nil, false, nil
		for i := range options.Networks {
			options.Networks[i].Aliases = nil
		}
		options.IPv4, options.IPv6, options.LinkLocalIPs, options.MACAddress = "", "", nil, ""
	}
	r := &request{shared: spec.Aliases}
	r.Name = spec.Name
	r.Config = &container.Config{}
	r.HostConfig = &container.HostConfig{}
	mapper := mapping{request: r, spec: spec, declared: spec.Spec, options: options, machine: m}
	for _, step := range []func() error{
		mapper.process, mapper.identity, mapper.restart, mapper.logs,
		mapper.networks, mapper.ports, mapper.hosts,
		mapper.storage, mapper.devices,
		mapper.resources, mapper.ulimits, mapper.isolation,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// mapping passes one spec through the steps; each step owns the fields it sets.
type mapping struct {
	*request
	spec     runtime.ContainerSpec
	declared api.DeploymentSpec
	options  dockerflags.Options
	machine  machine
}

// invalid returns the error of a field that the engine would refuse, or that its API can't express.
func invalid(field string, err error) error {
	return &runtime.RejectedError{
		Reason: "InvalidOption", Detail: fmt.Sprintf("%s: %v", field, err), Next: "correct " + field + " and apply again",
	}
}

func (m *mapping) identity() error {
	declared := maps.Clone(m.options.Labels)
	if declared == nil {
		declared = map[string]string{}
	}
	maps.Copy(declared, m.declared.Labels)
	m.Config.Labels = m.spec.AllLabels(declared, m.machine.cluster, m.machine.node)
	m.Config.Image = m.spec.Image
	if m.spec.ImageID != "" {
		m.Config.Image = m.spec.ImageID
	}
	m.Config.Hostname = first(m.declared.Hostname, m.options.Hostname, m.defaultHostname())
	m.Config.Domainname = m.options.Domainname
	m.HostConfig.Runtime = m.options.Runtime
	platform, err := parsePlatform(m.options.Platform)
	m.Platform = platform
	return err
}

// defaultHostname returns the container's name, if the container has a hostname of its own and the kernel accepts the
// name's length.
func (m *mapping) defaultHostname() string {
	const longest = 63
	mode := m.networkMode()
	if mode == network.NetworkHost || strings.HasPrefix(mode, "container:") || m.options.UTS == "host" ||
		len(m.spec.Name) > longest {
		return ""
	}
	return m.spec.Name
}

func (m *mapping) restart() error {
	policy := first(m.spec.Restart, m.declared.Restart, api.DefaultRestart)
	name, count, counted := strings.Cut(policy, ":")
	m.HostConfig.RestartPolicy = container.RestartPolicy{Name: container.RestartPolicyMode(name)}
	if counted {
		retries, err := strconv.Atoi(count)
		if err != nil {
			return invalid("restart", fmt.Errorf("%q is not on-failure:<number>", policy))
		}
		m.HostConfig.RestartPolicy.MaximumRetryCount = retries
	}
	if err := container.ValidateRestartPolicy(m.HostConfig.RestartPolicy); err != nil {
		return invalid("restart", err)
	}
	return nil
}

// logs sets json-file even if it is the engine's default: logs, tail and rotation depend on it.
func (m *mapping) logs() error {
	config := map[string]string{"max-size": api.DefaultLogMaxSize, "max-file": strconv.Itoa(api.DefaultLogMaxFiles)}
	if declared := m.declared.Logs; declared != nil {
		config["max-size"] = first(declared.MaxSize, api.DefaultLogMaxSize)
		if declared.MaxFiles != nil {
			config["max-file"] = strconv.Itoa(*declared.MaxFiles)
		}
	}
	m.HostConfig.LogConfig = container.LogConfig{Type: "json-file", Config: config}
	if driver := m.options.LogDriver; driver != "" && driver != "json-file" {
		m.HostConfig.LogConfig = container.LogConfig{Type: driver, Config: map[string]string{}}
	}
	maps.Copy(m.HostConfig.LogConfig.Config, m.options.LogOpts)
	return nil
}

// first returns the first that is not empty.
func first(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// together concatenates lists into a new slice.
func together(lists ...[]string) []string { return slices.Concat(lists...) }
