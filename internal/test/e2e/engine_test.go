//go:build integration

package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
)

// engineResult is the result of a docker command.
type engineResult struct {
	m      *machine
	args   []string
	output string
	err    error
}

// engine runs a docker command, as a person would without Tend.
func (m *machine) engine(args ...string) engineResult {
	output, err := exec.Command("docker", args...).CombinedOutput()
	return engineResult{m: m, args: args, output: strings.TrimSpace(string(output)), err: err}
}

// must returns the output of a command, which must succeed.
func (r engineResult) must() string {
	r.m.Helper()
	if r.err != nil {
		r.m.Fatalf("docker %s: %v: %s", strings.Join(r.args, " "), r.err, r.output)
	}
	return r.output
}

// ignored marks a command that may fail.
func (r engineResult) ignored() {}

// dockerHTTP speaks the engine's API where a docker command would be too slow to watch with.
var dockerHTTP = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _,
	_ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", "/var/run/docker.sock")
}}}

// ask reads an answer of the engine's API; found is false on a 404.
func (m *machine) ask(path string, into any) (found bool) {
	m.Helper()
	response, err := dockerHTTP.Get("http://docker" + path)
	if err != nil {
		m.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, into)
	}
	if err != nil || response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNotFound {
		m.Fatalf("docker %s: %s %v: %s", path, response.Status, err, body)
	}
	return response.StatusCode == http.StatusOK
}

// box is a container as the engine lists it.
type box struct {
	ID      string `json:"Id"`
	Names   []string
	ImageID string
	State   string
	Labels  map[string]string
	Created int64
}

func (b box) name() string { return strings.TrimPrefix(b.Names[0], "/") }

// boxes returns the containers with a label, also ended ones.
func (m *machine) boxes(label string) []box {
	m.Helper()
	filter, _ := json.Marshal(map[string][]string{"label": {label}})
	var out []box
	m.ask("/containers/json?all=1&filters="+url.QueryEscape(string(filter)), &out)
	return out
}

// running returns the running containers of an object by name.
func (m *machine) running(name string) map[string]box {
	m.Helper()
	out := map[string]box{}
	for _, b := range m.boxes("tend.scope=" + m.scope) {
		if b.State == "running" && b.Labels["tend.name"] == name {
			out[b.name()] = b
		}
	}
	return out
}

func (m *machine) removeContainers(label string) {
	m.until("every container with "+label+" is removed", func() bool {
		boxes := m.boxes(label)
		if len(boxes) == 0 {
			return true
		}
		args := []string{"rm", "-f"} // one command for all: it removes several at once
		for _, b := range boxes {
			args = append(args, b.ID)
		}
		m.engine(args...).ignored() // some may be under way already
		return false
	})
}

// removeNetwork frees the machine's network: an engine has about thirty, and every test that keeps one takes it from
// another. There is none if nothing was started.
func (m *machine) removeNetwork() {
	m.until("its network is removed", func() bool {
		r := m.engine("network", "rm", m.network)
		gone := r.err == nil || strings.Contains(r.output, "No such network") || strings.Contains(r.output, "not found")
		if !gone {
			m.Logf("docker network rm %s: %s", m.network, r.output)
		}
		return gone
	})
}

// inspection holds the part of the engine's inspect that tests compare.
type inspection struct {
	ID    string `json:"Id"`
	State struct {
		Status, StartedAt string
		Running           bool
		Pid               int
	}
	RestartCount int
	Image        string
	Config       struct {
		User, Hostname, WorkingDir, StopSignal string
		StopTimeout                            int
		Env, Cmd, Entrypoint                   []string
		Labels                                 map[string]string
	}
	HostConfig      map[string]any
	NetworkSettings struct {
		Networks map[string]struct {
			Aliases   []string
			IPAddress string
		}
	}
}

func (m *machine) inspect(container string) inspection {
	m.Helper()
	var seen inspection
	if !m.ask("/containers/"+container+"/json", &seen) {
		m.Fatalf("there is no container %s", container)
	}
	return seen
}
