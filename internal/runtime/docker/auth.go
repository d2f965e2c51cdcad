package docker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/distribution/reference"
)

// Auth are the credentials for a registry.
type Auth struct {
	Username, Password string
	// IdentityToken replaces both.
	IdentityToken string
	// Server is the registry as it names itself. Default: the reference's.
	Server string
}

// AuthProvider finds the credentials for a reference; false if it has none and the pull goes without.
type AuthProvider func(ctx context.Context, reference string) (Auth, bool, error)

// dockerHub is the name in docker's config of the registry of references without one.
const dockerHub = "https://index.docker.io/v1/"

const (
	maxConfigBytes = 1 << 20
	maxHelperBytes = 64 << 10
	helperTimeout  = 10 * time.Second
)

// ConfigAuth reads docker's config file at each pull, so that a docker login takes effect at once. A missing file has
// no credentials.
func ConfigAuth(path string) AuthProvider {
	return func(ctx context.Context, ref string) (Auth, bool, error) {
		config, err := readConfig(path)
		if err != nil {
			return Auth{}, false, fmt.Errorf("registry credentials: %w", err)
		}
		auth, ok, err := config.find(ctx, registryKey(ref))
		if err != nil {
			return Auth{}, false, fmt.Errorf("registry credentials in %s: %w", path, err)
		}
		return auth, ok, nil
	}
}

// UserAuth returns the credentials of the user this process runs as: what docker login left in docker's config file.
func UserAuth() AuthProvider { return ConfigAuth(defaultConfigPath()) }

func defaultConfigPath() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "" // a service without a home has no credentials of its own
	}
	return filepath.Join(home, ".docker", "config.json")
}

type configFile struct {
	Auths map[string]struct {
		Auth          string `json:"auth"`
		IdentityToken string `json:"identitytoken"`
	} `json:"auths"`
	Store   string            `json:"credsStore"`
	Helpers map[string]string `json:"credHelpers"`
}

func readConfig(path string) (configFile, error) {
	var config configFile
	file, err := os.Open(path)
	if os.IsNotExist(err) || path == "" {
		return config, nil
	}
	if err != nil {
		return config, err
	}
	defer file.Close()
	if err := json.NewDecoder(io.LimitReader(file, maxConfigBytes)).Decode(&config); err != nil {
		return config, fmt.Errorf("%s is not a docker config file: %w", path, err)
	}
	return config, nil
}

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

// find asks the helper if one is named for the registry, else it reads the file itself.
func (c configFile) find(ctx context.Context, registry string) (Auth, bool, error) {
	if helper := first(c.Helpers[registry], c.Store); helper != "" {
		return askHelper(ctx, helper, registry)
	}
	for server, entry := range c.Auths {
		if server != registry && hostOf(server) != registry {
			continue
		}
		if entry.IdentityToken != "" {
			return Auth{IdentityToken: entry.IdentityToken, Server: server}, true, nil
		}
		decoded, err := base64.StdEncoding.DecodeString(entry.Auth)
		username, password, found := strings.Cut(string(decoded), ":")
		if err != nil || !found {
			return Auth{}, false, fmt.Errorf("the entry of %s is not base64 of user:password; docker login again", server)
		}
		return Auth{Username: username, Password: strings.TrimRight(password, "\x00"), Server: server}, true, nil
	}
	return Auth{}, false, nil
}

// hostOf returns the host of a registry that is written as a URL, which is the older form.
func hostOf(server string) string {
	server = strings.TrimPrefix(strings.TrimPrefix(server, "https://"), "http://")
	host, _, _ := strings.Cut(server, "/")
	return host
}

// askHelper runs docker-credential-<name>. One that says it has none is not an error.
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
