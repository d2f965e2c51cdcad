//go:build integration

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/test/testimage"
)

// planted are secrets that must be found nowhere, in any form a text is stored in.
type planted struct {
	*machine
	secrets []string
}

// plant draws a secret and sets it.
func (p *planted) plant(bucket, key string) {
	p.Helper()
	value := "s3cret-" + random() + "\"\n<" + random() + ">"
	p.secrets = append(p.secrets, value)
	p.wantSaid(p.tend("config", "set", bucket, key+"=@"+p.text(key, value), "--no-wait"), 0)
}

// in asserts that a text holds no secret.
func (p *planted) in(where string, text []byte) {
	p.Helper()
	for _, secret := range p.secrets {
		if form := holds(text, secret); form != "" {
			p.Errorf("%s holds %q", where, form)
		}
	}
}

// holds returns the form in which a text contains a secret, or its distinct beginning: plain, in JSON, or in base64;
// else "".
func holds(text []byte, secret string) string {
	inJSON, _ := json.Marshal(secret)
	for _, form := range []string{secret[:len("s3cret-")+8], string(inJSON[1 : len(inJSON)-1]),
		base64.StdEncoding.EncodeToString([]byte(secret))} {
		if bytes.Contains(text, []byte(form)) {
			return form
		}
	}
	return ""
}

// TestHoldsBites: a secret is found in every form.
func TestHoldsBites(t *testing.T) {
	const secret = "s3cret-0123abcd\"\n<4567>"
	for _, text := range []string{"A=" + secret + ";", `{"a":"s3cret-0123abcd\"\n\u003c4567\u003e"}`,
		base64.StdEncoding.EncodeToString([]byte(secret)), "s3cret-0123abcd"} {
		if holds([]byte(text), secret) == "" {
			t.Errorf("%q is taken for innocent", text)
		}
	}
	if form := holds([]byte("s3cret-another"), secret); form != "" {
		t.Errorf("found %q in an innocent text", form)
	}
}

// inFiles searches every file below a folder.
func (p *planted) inFiles(root string) {
	p.Helper()
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		files++
		p.in(path, raw)
		return err
	})
	if err != nil || files < 5 {
		p.Errorf("%d files were searched: %v", files, err)
	}
}

// answers collects the API's answers to every request that lists or shows something.
func (p *planted) answers() {
	p.Helper()
	for _, path := range []string{
		"/v1/objects/deployment", "/v1/objects/deployment/" + p.scope + "/app", "/v1/pods", "/v1/nodes",
		"/metrics", "/version",
		"/v1/releases?name=app&scope=" + p.scope, "/v1/config?scope=" + p.scope, "/v1/config?name=app&scope=" + p.scope,
	} {
		response, err := p.unix().Get("http://tend" + path)
		if err != nil {
			p.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			p.Errorf("%s: %s %v: %.200s", path, response.Status, err, body)
		}
		p.in("GET "+path, body)
	}
}

func (m *machine) unix() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(m.root, "tend.sock"))
		}}}
}

// followAll collects a watch of all deployments; the returned function ends it and returns the events.
func (p *planted) followAll() (end func() []byte) {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://tend/v1/objects/deployment?watch=1&scope="+
		url.QueryEscape(p.scope), nil)
	if err != nil {
		p.Fatal(err)
	}
	response, err := p.unix().Do(request)
	if err != nil {
		p.Fatal(err)
	}
	var text bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() {
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			text.Write(lines.Bytes())
		}
	})
	return func() []byte { cancel(); reading.Wait(); return text.Bytes() }
}

// story sets secrets in every way there is, rolls, fails and rolls back, and searches everywhere after each step.
func (p *planted) story(base, change, fails func(*api.DeploymentSpec)) {
	p.Helper()
	shared := "shared-" + p.scope
	end := p.followAll()
	p.plant(p.scope, "OF_SCOPE")
	p.plant(p.scope+"/app", "OF_APP")
	p.plant(shared, "OF_SHARED")
	p.plant(shared+"/db", "OF_DB")
	reads := takesFrom(shared + "/db")
	p.deploy(p.manifest("app", base, reads))
	p.everywhere()
	p.plant(p.scope+"/app", "OF_APP")
	p.until("the new secret is rolled out", func() bool { return p.status("app").Release == "v2" })
	p.converged("app", 0)
	p.in("diff", []byte(p.tend("diff", "-f", p.text("app.json", p.manifestText(base, reads, change))).output))
	p.deploy(p.manifest("app", base, reads, change))
	p.apply(p.manifest("app", base, reads, change, fails))
	p.until("it fails", func() bool {
		return isTrue(p.status("app"), api.ConditionDegraded) && p.status("app").Rollout.Phase == api.RolloutPaused
	})
	p.everywhere()
	if _, err := p.client.Rollback(p.Context(), client.TargetOf(p.ref("app")), "v1", client.WithConfig); err != nil {
		p.Fatal(err)
	}
	p.until("it is rolled back", func() bool {
		s := p.status("app")
		return isTrue(s, api.ConditionReady) && s.Release == "v5" && !isTrue(s, api.ConditionProgressing)
	})
	p.everywhere()
	p.in("the stream of changes", end())
	p.in("the server's output", []byte(p.output.String()))
	p.inFiles(p.root)
}

func (p *planted) manifestText(edits ...func(*api.DeploymentSpec)) string {
	raw, err := json.Marshal(p.manifest("app", edits...))
	if err != nil {
		p.Fatal(err)
	}
	return string(raw)
}

func (p *planted) everywhere() {
	p.Helper()
	p.answers()
	for _, args := range [][]string{
		{"get", "deployments", "-o", "json"}, {"get", "pods", "-o", "json"}, {"describe", p.scope + "/app"},
		{"releases", p.scope + "/app", "-o", "json"},
		{"config", "list", p.scope + "/app", "-o", "json"}, {"config", "get", p.scope + "/app"},
		{"blame", "deployment", p.scope + "/app"},
	} {
		r := p.tend(args...)
		p.wantSaid(r, 0)
		p.in("tend "+strings.Join(args, " "), []byte(r.output))
	}
	p.in("the server's output", []byte(p.output.String()))
	p.inFiles(p.root)
}

// TestSecretsAreFoundNowhere: not in the data dir, in a log, an event, an answer, a label or a diff, also of containers
// that print their environment as they fail. The engine's inspect doesn't show a secret mounted as a file, either.
func TestSecretsAreFoundNowhere(t *testing.T) {
	p := &planted{machine: newMachine(t, "--log-level", "debug").start()}
	p.plant(p.scope+"/app", "IN_FILE")
	filed := &planted{machine: p.machine, secrets: p.secrets}
	base := func(s *api.DeploymentSpec) {
		secretFile("/run/secrets/filed", "IN_FILE")(s)
		onFailure(api.OnFailurePause)(s)
	}
	change := func(s *api.DeploymentSpec) { s.Labels = map[string]string{"changed": "yes"} }
	p.story(base, change, does("env"))
	p.has("app", "OF_DB", p.secrets[4]) // they were there to be found
	p.has("app", "OF_APP", p.secrets[2])
	for _, b := range p.boxes("tend.scope=" + p.scope) {
		labels, _ := json.Marshal(b.Labels)
		p.in("the labels of "+b.name(), labels)
		var all json.RawMessage
		if p.ask("/containers/"+b.ID+"/json", &all) {
			filed.in("what the engine shows of "+b.name(), all)
		}
	}
	p.delete("app")
	p.terminate()
	p.inFiles(p.root)
}

// TestSecretsOfProcessesAreFoundNowhere: neither where plain processes run, whose containers are files of Tend's own.
func TestSecretsOfProcessesAreFoundNowhere(t *testing.T) {
	p := &planted{machine: newMachine(t, "--log-level", "debug", "--runtime", "process").start()}
	image := filepath.Join(p.root, "images", "web")
	binary, err := testimage.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(binary)
	if err == nil {
		err = os.MkdirAll(image, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(image, "server"), content, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	base := func(s *api.DeploymentSpec) {
		s.Image, s.Command = image, []string{"/server", "wait"}
		onFailure(api.OnFailurePause)(s)
	}
	change := func(s *api.DeploymentSpec) { s.Labels = map[string]string{"changed": "yes"} }
	p.story(base, change, func(s *api.DeploymentSpec) { s.Command = []string{"/server", "exit", "1"} })
	p.delete("app")
	p.terminate()
	p.inFiles(p.root)
}
