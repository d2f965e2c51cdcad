package docker

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
	"github.com/moby/moby/client"
)

// defaultContext is the name for no context: DOCKER_HOST and its companions, else the local socket.
const defaultContext = "default"

// engineAddress returns the client options for the engine's address: that of the declared host, else of the engine that
// the docker command uses here.
func engineAddress(host string, log *slog.Logger) ([]client.Opt, error) {
	if host != "" {
		return []client.Opt{client.WithHost(host)}, nil
	}
	name := contextName(log)
	if name == defaultContext {
		return []client.Opt{client.FromEnv}, nil
	}
	contexts := store.New(filepath.Join(configDir(), "contexts"),
		store.NewConfig(nil, store.EndpointTypeGetter(docker.DockerEndpoint, func() any { return &docker.EndpointMeta{} })))
	found, err := contexts.GetMetadata(name)
	if err != nil {
		return nil, err
	}
	address, err := docker.EndpointFromContext(found)
	if err != nil {
		return nil, fmt.Errorf("context %q: %w", name, err)
	}
	endpoint, err := docker.WithTLSData(contexts, name, address)
	if err != nil {
		return nil, err
	}
	return endpoint.ClientOpts()
}

// contextName returns the context that the docker command uses: none if DOCKER_HOST is set, else DOCKER_CONTEXT, else
// the one of docker context use.
func contextName(log *slog.Logger) string {
	if os.Getenv(client.EnvOverrideHost) != "" {
		return defaultContext
	}
	if name := os.Getenv("DOCKER_CONTEXT"); name != "" {
		return name
	}
	file, err := config.Load(configDir())
	if err != nil {
		log.Warn("docker's config file can't be read", "error", err)
	}
	return first(file.CurrentContext, defaultContext)
}
