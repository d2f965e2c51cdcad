package docker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/container"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/dockerflags"
)

func (m *mapping) process() error {
	m.Config.Cmd = m.declared.Command
	m.Config.Entrypoint = m.declared.Entrypoint
	if m.options.Entrypoint != nil {
		m.Config.Entrypoint = []string{*m.options.Entrypoint} // a list with one "" resets the image's entrypoint
	}
	m.Config.Env = environment(m.spec.Env, m.options.Env)
	m.Config.User = first(m.declared.User, m.options.User)
	m.Config.WorkingDir = first(m.declared.WorkingDir, m.options.WorkingDir)
	m.Config.OpenStdin, m.Config.Tty = m.options.Interactive, m.options.TTY
	m.Config.StopSignal = first(m.declared.StopSignal, m.options.StopSignal)
	m.Config.StopTimeout = m.stopTimeout()
	m.Config.Healthcheck = healthcheck(m.options.Health)
	m.HostConfig.GroupAdd = m.options.GroupAdd
	m.HostConfig.Init = m.options.Init
	return nil
}

// environment returns the merged variables, sorted, so that the same spec makes the same container.
func environment(sources ...map[string]string) []string {
	merged := map[string]string{}
	for _, env := range sources {
		maps.Copy(merged, env)
	}
	lines := make([]string, 0, len(merged))
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		lines = append(lines, name+"="+merged[name])
	}
	return lines
}

func (m *mapping) stopTimeout() *int {
	if m.declared.StopGracePeriod == "" && m.options.StopTimeout != nil {
		return m.options.StopTimeout
	}
	seconds := wholeSeconds(m.declared.StopGracePeriod.Or(api.DefaultStopGracePeriod))
	return &seconds
}

func healthcheck(health *dockerflags.Health) *container.HealthConfig {
	if health == nil {
		return nil
	}
	if health.Disabled {
		return &container.HealthConfig{Test: []string{"NONE"}}
	}
	config := &container.HealthConfig{
		Interval: health.Interval, Timeout: health.Timeout, StartPeriod: health.StartPeriod, Retries: health.Retries,
	}
	if health.Command != "" {
		config.Test = []string{"CMD-SHELL", health.Command}
	}
	return config
}

// parsePlatform parses os[/arch[/variant]].
func parsePlatform(text string) (*ocispec.Platform, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, "/")
	if len(parts) > 3 {
		return nil, invalid("docker_options --platform", fmt.Errorf("%q is not os/arch or os/arch/variant", text))
	}
	platform := &ocispec.Platform{OS: parts[0]}
	if len(parts) > 1 {
		platform.Architecture = parts[1]
	}
	if len(parts) > 2 {
		platform.Variant = parts[2]
	}
	return platform, nil
}
