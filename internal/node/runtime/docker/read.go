package docker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// read translates the engine's description of a container.
func (r *Runtime) read(from container.InspectResponse) runtime.Container {
	out := runtime.Container{
		ID:           from.ID,
		Name:         strings.TrimPrefix(from.Name, "/"),
		RestartCount: from.RestartCount,
		ImageID:      from.Image,
		CreatedAt:    readTime(from.Created),
	}
	if from.Config != nil {
		out.Labels, out.Check = from.Config.Labels, check(from.Config)
	}
	if from.HostConfig != nil {
		out.Restart = restartText(from.HostConfig.RestartPolicy)
	}
	if state := from.State; state != nil {
		out.State = runtime.State(state.Status)
		out.ExitCode, out.OOMKilled, out.Error, out.PID = state.ExitCode, state.OOMKilled, state.Error, state.Pid
		out.StartedAt, out.FinishedAt = readTime(state.StartedAt), readTime(state.FinishedAt)
	}
	if from.NetworkSettings != nil {
		out.Address = address(from.NetworkSettings.Networks, r.options.NetworkName)
		out.Ports = bindings(from.NetworkSettings)
	}
	out.Detached = out.State == runtime.StateRunning && detached(from)
	if from.HostConfig != nil && from.HostConfig.NetworkMode.IsHost() && out.State == runtime.StateRunning {
		out.Address = api.Loopback // it shares the node's
	}
	return out
}

// readSummary translates the engine's entry of a container in a list.
func (r *Runtime) readSummary(from container.Summary) runtime.Container {
	out := runtime.Container{
		ID: from.ID, Name: listedName(from), Labels: from.Labels, State: runtime.State(from.State), ImageID: from.ImageID,
		CreatedAt: time.Unix(from.Created, 0), Undescribed: true,
	}
	if from.NetworkSettings != nil {
		out.Address = address(from.NetworkSettings.Networks, r.options.NetworkName)
	}
	if container.NetworkMode(from.HostConfig.NetworkMode).IsHost() && out.State == runtime.StateRunning {
		out.Address = api.Loopback // as read says
	}
	return out
}

func listedName(listed container.Summary) string {
	return strings.TrimPrefix(slices.Concat(listed.Names, []string{""})[0], "/")
}

// check returns the health check of a container, which the engine has merged from the image's and the container's own.
func check(from *container.Config) *runtime.HealthCheck {
	declared := from.Healthcheck
	if declared == nil || len(declared.Test) < 2 {
		return nil
	}
	out := &runtime.HealthCheck{
		Interval: declared.Interval, Timeout: declared.Timeout, StartPeriod: declared.StartPeriod, Retries: declared.Retries,
	}
	switch declared.Test[0] {
	case "CMD":
		out.Command = declared.Test[1:]
	case "CMD-SHELL":
		shell := from.Shell
		if len(shell) == 0 {
			shell = []string{"/bin/sh", "-c"}
		}
		out.Command = append(slices.Clone(shell), declared.Test[1])
	default:
		return nil
	}
	return out
}

// detached reports whether a container is not on the network that it was created for.
func detached(from container.InspectResponse) bool {
	if from.HostConfig == nil || from.NetworkSettings == nil || !from.HostConfig.NetworkMode.IsUserDefined() {
		return false
	}
	mode := string(from.HostConfig.NetworkMode) // a name, or an id that may be shortened
	for name, endpoint := range from.NetworkSettings.Networks {
		if name == mode || endpoint != nil && strings.HasPrefix(endpoint.NetworkID, mode) {
			return false
		}
	}
	return true
}

// readTime parses the engine's times; its year 1 becomes the zero time.
func readTime(text string) time.Time {
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || parsed.Year() <= 1 {
		return time.Time{}
	}
	return parsed
}

func restartText(policy container.RestartPolicy) string {
	if policy.Name == "" {
		return string(container.RestartPolicyDisabled)
	}
	if policy.MaximumRetryCount > 0 {
		return fmt.Sprintf("%s:%d", policy.Name, policy.MaximumRetryCount)
	}
	return string(policy.Name)
}

// address returns the container's address on the platform network, else on the first other network by name.
func address(networks map[string]*network.EndpointSettings, platform string) string {
	if endpoint := networks[platform]; endpoint != nil && endpoint.IPAddress.IsValid() {
		return endpoint.IPAddress.String()
	}
	var names []string
	for name, endpoint := range networks {
		if endpoint != nil && endpoint.IPAddress.IsValid() {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return networks[slices.Min(names)].IPAddress.String()
}

// bindings returns the published ports in a stable order.
func bindings(settings *container.NetworkSettings) []api.PortBinding {
	var out []api.PortBinding
	for port, published := range settings.Ports {
		for _, binding := range published {
			hostPort, err := strconv.Atoi(binding.HostPort)
			if err != nil {
				continue // published, but not bound yet
			}
			out = append(out, api.PortBinding{
				Container: int(port.Num()), Protocol: string(port.Proto()), HostIP: addressText(binding.HostIP), HostPort: hostPort,
			})
		}
	}
	slices.SortFunc(out, func(a, b api.PortBinding) int {
		return cmp.Or(cmp.Compare(a.Container, b.Container), cmp.Compare(a.Protocol, b.Protocol),
			cmp.Compare(a.HostIP, b.HostIP), cmp.Compare(a.HostPort, b.HostPort))
	})
	return out
}

func addressText(address interface {
	IsValid() bool
	String() string
}) string {
	if !address.IsValid() {
		return ""
	}
	return address.String()
}
