package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/docker/cli/cli/config"
)

// Auth are the credentials for a registry.
type Auth struct {
	Username, Password string
	// IdentityToken replaces both.
	IdentityToken string
	// Server is the registry as it names itself. Default: the reference's.
	Server string
}

// AuthProvider returns the credentials for a reference; false for a pull without credentials.
type AuthProvider func(ctx context.Context, reference string) (Auth, bool, error)

// dockerHub is the key in docker's config for Docker Hub, the registry of references without one.
const dockerHub = "https://index.docker.io/v1/"

const (
	maxHelperBytes = 64 << 10
	helperTimeout  = 10 * time.Second
)

// ConfigAuth reads docker's config file in a folder at each pull, so that a docker login takes effect at once. A
// missing file has no credentials.
func ConfigAuth(dir string) AuthProvider {
	return func(ctx context.Context, ref string) (Auth, bool, error) {
		file, err := config.Load(dir)
		if err != nil {
			return Auth{}, false, fmt.Errorf("registry credentials: %w", err)
		}
		registry := registryKey(ref)
		if helper := first(file.CredentialHelpers[registry], file.CredentialsStore); helper != "" {
			auth, found, err := askHelper(ctx, helper, registry)
			if err != nil {
				err = fmt.Errorf("registry credentials in %s: %w", file.Filename, err)
			}
			return auth, found, err
		}
		entry, err := file.GetAuthConfig(registry)
		if err != nil {
			return Auth{}, false, fmt.Errorf("registry credentials in %s: %w", file.Filename, err)
		}
		auth := Auth{Username: entry.Username, Password: entry.Password, IdentityToken: entry.IdentityToken,
			Server: entry.ServerAddress}
		return auth, auth.Username != "" || auth.IdentityToken != "", nil
	}
}

// UserAuth returns the credentials of the user that this process runs as: those that docker login stored in docker's
// config file.
func UserAuth() AuthProvider { return ConfigAuth(configDir()) }

// configDir returns the folder of docker's config file: DOCKER_CONFIG, else .docker in the user's home. A service
// without HOME uses the home of /etc/passwd.
func configDir() string { return first(os.Getenv(config.EnvOverrideConfigDir), config.Dir()) }

func registryKey(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	if domain := reference.Domain(named); domain != "docker.io" {
		return domain
	}
	return dockerHub
}

// askHelper runs docker-credential-<name>. A helper without credentials is not an error.
func askHelper(ctx context.Context, name, registry string) (Auth, bool, error) {
	if strings.ContainsAny(name, "/\\") {
		return Auth{}, false, fmt.Errorf("credential helper %q is not a name", name)
	}
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	output := &boundedBuffer{limit: maxHelperBytes}
	command := exec.CommandContext(ctx, "docker-credential-"+name, "get")
	command.Stdin, command.Stdout = strings.NewReader(registry), output
	command.WaitDelay = time.Second // a child of the helper may hold its output open
	err := command.Run()
	switch {
	case err != nil && bytes.Contains(output.Bytes(), []byte("credentials not found")):
		return Auth{}, false, nil
	case errors.Is(err, exec.ErrNotFound):
		return Auth{}, false, fmt.Errorf("the program docker-credential-%s is not on the node's PATH", name)
	case ctx.Err() != nil:
		return Auth{}, false, fmt.Errorf("docker-credential-%s did not answer within %s", name, helperTimeout)
	case err != nil:
		return Auth{}, false, fmt.Errorf("docker-credential-%s: %w", name, err)
	}
	var answer struct{ Username, Secret string }
	if json.Unmarshal(output.Bytes(), &answer) != nil || answer.Secret == "" {
		return Auth{}, false, fmt.Errorf("docker-credential-%s did not answer with credentials", name)
	}
	if answer.Username == "<token>" {
		return Auth{IdentityToken: answer.Secret, Server: registry}, true, nil
	}
	return Auth{Username: answer.Username, Password: answer.Secret, Server: registry}, true, nil
}

// boundedBuffer refuses writes beyond its limit, which ends the writing program.
type boundedBuffer struct {
	bytes.Buffer
	limit int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, fmt.Errorf("more than %d bytes of output", b.limit)
	}
	return b.Buffer.Write(p)
}
