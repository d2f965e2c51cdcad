//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// shopFile is a Compose project of four services that run, one that has run, and one that was never started. What
// Compose makes of it, the test makes by hand. A pod counts as good after a second.
const shopFile = `
name: PROJECT
x-quick: &quick {update_config: {monitor: 1s}}
services:
  db:
    image: IMAGE
    command: [/server, append, /data/rows]
    volumes: [data:/data]
    restart: always
    deploy: *quick
  cache:
    image: IMAGE
    restart: on-failure:3
    deploy: *quick
  web:
    build: .
    command: [WEB]
    depends_on:
      db: {condition: service_started}
      cache: {condition: service_started}
      migrate: {condition: service_completed_successfully}
    volumes: [uploads:/data]
    ports: ["127.0.0.1::8080"]
    deploy: *quick
  my_worker:
    image: IMAGE
    depends_on: [db]
    volumes: [uploads:/data]
    restart: unless-stopped
    deploy: *quick
  migrate:
    image: IMAGE
    command: [/server, lookup, db]
    depends_on: [db]
  console:
    image: IMAGE
volumes:
  data:
  uploads:
`

// composeShop is the project as it runs. Its name is the machine's scope.
type composeShop struct {
	*machine
	dir     string
	history *history
}

// newShop runs the project's containers as Compose would: with its labels, names, network, volumes and restart
// policies.
func (m *machine) newShop() *composeShop {
	m.Helper()
	s := &composeShop{machine: m, dir: m.TempDir()}
	s.write("[/server]")
	m.afterwards(s.remove)
	s.history = m.follow()
	project := "com.docker.compose.project=" + m.scope
	m.engine("network", "create", "--label", project, m.scope+"_default").must()
	for _, volume := range []string{"data", "uploads"} {
		m.engine("volume", "create", "--label", project, m.scope+"_"+volume).must()
	}
	m.engine("tag", image("v1"), m.scope+"-web").must()
	s.run("db", image("v1"), []string{"--restart", "always", "-v", m.scope + "_data:/data"}, "append", "/data/rows")
	s.run("cache", image("v1"), []string{"--restart", "on-failure:3", "-v", "/keep"})
	s.run("migrate", image("v1"), nil, "lookup", "db")
	s.run("web", m.scope+"-web", []string{"-v", m.scope + "_uploads:/data", "-p", "127.0.0.1::8080"})
	s.run("my_worker", image("v1"), []string{"--restart", "unless-stopped", "-v", m.scope + "_uploads:/data"})
	s.until("rows are written", func() bool { return len(s.rows()) > 10 })
	return s
}

// write writes the Compose file; web is the command of its service.
func (s *composeShop) write(web string) {
	s.Helper()
	text := strings.NewReplacer("PROJECT", s.scope, "IMAGE", image("v1"), "[WEB]", web).Replace(shopFile)
	if err := os.WriteFile(filepath.Join(s.dir, "compose.yaml"), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// name returns Compose's name for the container of a service.
func (s *composeShop) name(service string) string { return s.scope + "-" + service + "-1" }

func (s *composeShop) run(service, from string, flags []string, command ...string) {
	s.Helper()
	args := append([]string{"run", "-d", "--name", s.name(service), "--network", s.scope + "_default",
		"--network-alias", service,
		"--label", "com.docker.compose.project=" + s.scope, "--label", "com.docker.compose.service=" + service,
		"--label", "com.docker.compose.oneoff=False", "--label", "com.docker.compose.container-number=1"}, flags...)
	s.engine(append(append(args, from, testimage.Program), command...)...).must()
}

// remove removes the remains of the project.
func (s *composeShop) remove() {
	for _, b := range s.boxes("com.docker.compose.project=" + s.scope) {
		s.engine("rm", "-f", "-v", b.ID).ignored() // with its volumes without a name
	}
	s.removeContainers("com.docker.compose.project=" + s.scope)
	for _, args := range [][]string{
		{"network", "rm", s.scope + "_default"}, {"volume", "rm", s.scope + "_data", s.scope + "_uploads"},
		{"rmi", s.scope + "-web"},
	} {
		tries := 0
		s.until("docker "+strings.Join(args, " "), func() bool { // the engine may still be leaving the network
			r := s.engine(args...)
			if tries++; tries > 100 && strings.Contains(r.output, "active endpoints") {
				// Old engines miscount the endpoints of a network now and then, and keep it until their next start.
				s.Logf("%s: %s", r.output, s.engine("network", "inspect", "-f", "{{json .Containers}}", s.scope+"_default").output)
				return true
			}
			return r.err == nil || strings.Contains(strings.ToLower(r.output), "no such")
		})
	}
}

// adopt runs the command in the project's folder.
func (s *composeShop) adopt(args ...string) cliResult {
	s.Helper()
	return s.tend(append([]string{"adopt", "compose", s.dir, "--timeout", "60s"}, args...)...)
}

// rows returns the rows in the database's volume.
func (s *composeShop) rows() []string {
	s.Helper()
	output := s.engine("run", "--rm", "--network", "none", "-v", s.scope+"_data:/data:ro", image("v1"),
		testimage.Program, "cat", "/data/rows")
	return strings.Split(strings.TrimSpace(output.output), "\n")
}

// wantRows asserts by the file that no row is lost, and that each writer ended before the next one began.
func (s *composeShop) wantRows(writers int) {
	s.Helper()
	var order []string
	last := map[string]int{}
	ended := map[string]bool{}
	for _, row := range s.rows() {
		words := strings.Fields(row)
		host := words[0]
		if len(order) == 0 || order[len(order)-1] != host || ended[host] && words[1] == "1" {
			if len(order) > 0 && !ended[order[len(order)-1]] {
				s.Errorf("%s begins before %s has ended", host, order[len(order)-1])
			}
			order, last[host], ended[host] = append(order, host), 0, false
		}
		switch {
		case words[1] == "second":
			s.Errorf("%s is the second writer", host)
		case words[1] == "end":
			ended[host] = true
			if n, _ := strconv.Atoi(words[2]); n != last[host] {
				s.Errorf("%s wrote %d rows, %d are there", host, n, last[host])
			}
		default:
			n, err := strconv.Atoi(words[1])
			if err != nil || n != last[host]+1 {
				s.Errorf("after row %d of %s comes %q", last[host], host, row)
			}
			last[host] = n
		}
	}
	if len(order) != writers {
		s.Errorf("the writers were %v, want %d", order, writers)
	}
}

// wantOneWriter asserts by the engine's events that no two containers of the database ran at the same time.
func (s *composeShop) wantOneWriter() {
	s.Helper()
	s.history.caughtUp()
	var running []string
	starts := 0
	for _, e := range s.history.all() {
		labels := e.Actor.Attributes
		if labels["com.docker.compose.service"] != "db" && labels[api.LabelName] != "db" {
			continue
		}
		if e.Action == "die" {
			running = slices.DeleteFunc(running, func(id string) bool { return id == e.Actor.ID })
			continue
		}
		if starts++; len(running) > 0 {
			s.Errorf("%s starts while %v runs", labels["name"], running)
		}
		running = append(running, e.Actor.ID)
	}
	if starts < 3 {
		s.Errorf("the engine reported %d starts", starts)
	}
}

// theirs returns the project's containers by the name Compose gave them, with their whole name, state and restart
// policy.
func (s *composeShop) theirs() map[string]string {
	s.Helper()
	out := map[string]string{}
	for _, b := range s.boxes("com.docker.compose.project=" + s.scope) {
		original, _, _ := strings.Cut(b.name(), ".adopted-")
		policy := s.inspect(b.ID).HostConfig["RestartPolicy"].(map[string]any)
		service := strings.TrimSuffix(strings.TrimPrefix(original, s.scope+"-"), "-1")
		suffix := strings.TrimSuffix(strings.TrimPrefix(b.name(), original), "."+s.scope)
		out[service] = suffix + " " + b.State + " " + policy["Name"].(string)
	}
	return out
}

// wantTheirs asserts the state of the project's containers.
func (s *composeShop) wantTheirs(want map[string]string) {
	s.Helper()
	got := s.theirs()
	for service, state := range want {
		if got[service] != state {
			s.Errorf("the container of %s is %q, want %q", service, got[service], state)
		}
	}
	if len(got) != len(want) {
		s.Errorf("the project has %v", got)
	}
}

var (
	inCompose = map[string]string{"migrate": " exited no", "db": " running always", "cache": " running on-failure",
		"web": " running no", "my_worker": " running unless-stopped"}
	inTend = map[string]string{"migrate": " exited no", "db": ".adopted-always exited no",
		"cache": ".adopted-on-failure-3 exited no", "web": ".adopted-no exited no",
		"my_worker": ".adopted-unless-stopped exited no"}
)

// wantOurs asserts that each of the services has one running pod, or none.
func (s *composeShop) wantOurs(pods int) {
	s.Helper()
	for _, name := range []string{"db", "cache", "web", "my-worker"} {
		if got := s.machine.running(name); len(got) != pods {
			s.Errorf("%s has the pods %v, want %d", name, got, pods)
		}
	}
}

// finds reports whether a container finds a host.
func (s *composeShop) finds(container, host string) bool {
	return s.engine("exec", container, testimage.Program, "lookup", host).err == nil
}

// TestSecondWriterIsRefused: beside a running project, its manifests are refused before anything is stored; a pod that
// was stopped is not started while a person's container writes to its volume.
func TestSecondWriterIsRefused(t *testing.T) {
	m := newMachine(t).start()
	s := m.newShop()
	manifest := m.file("db.hcl", `
		deployment "SCOPE" "db" {
		  image   = "IMAGE"
		  command = ["/server", "append", "/data/rows"]
		  volumes = ["SCOPE_data:/data"]
		}`)
	said := "the volume " + m.scope + "_data is in use: container " + s.name("db") +
		" (service db of the Compose project " + m.scope + ") writes to it"
	for _, command := range []string{"apply", "diff"} {
		m.wantSaid(m.tend(command, "-f", manifest), 1, "1 conflict with what runs on this machine", "db.hcl:5", said,
			"docker compose -p "+m.scope+" down (without -v)", "tend adopt compose")
	}
	if objects := m.running("db"); len(objects) > 0 {
		t.Errorf("it runs: %v", objects)
	}
	m.engine("stop", s.name("db")).must()
	m.wantSaid(m.tend("apply", "-f", manifest), 0)
	s.wantRows(2)

	m.wantSaid(m.tend("scale", m.scope+"/db", "0"), 0)
	m.until("it has stopped", func() bool { return len(m.running("db")) == 0 })
	m.engine("start", s.name("db")).must()
	m.wantSaid(m.tend("scale", m.scope+"/db", "1", "--no-wait"), 0)
	m.until("the pod is refused", func() bool { return strings.Contains(m.tend("describe", m.scope+"/db").output, said) })
	m.engine("stop", s.name("db")).must()
	m.until("Tend has tried again", func() bool { return len(m.running("db")) == 1 })
	s.wantRows(4)
	s.wantOneWriter()
}

// TestAdoptCompose: a project is shown, taken over, given back, taken over again after a crash, and finished. No row of
// its database is lost, and no two writers ever run at the same time.
func TestAdoptCompose(t *testing.T) {
	m := newMachine(t).start()
	s := m.newShop()
	shown := s.adopt("--dry-run")
	m.wantSaid(shown, 0, "5 services to take over, in this order", "migrate: has run, and runs again in its turn -> job/"+m.scope+"/migrate",
		"my_worker, web: together, since they write to the same volume",
		"db: "+s.name("db")+" -> deployment/"+m.scope+"/db", "keeps volume "+m.scope+"_data at /data, network "+m.scope+
			"_default", "port 127.0.0.1::8080", "image is "+m.scope+"-web, which Compose built", "not taken over: console",
		"apply my_worker, web")
	if at := strings.Index(shown.output, "apply db"); at < 0 || at > strings.Index(shown.output, "stop "+s.name("web")) {
		t.Errorf("the database doesn't come first:\n%s", shown.output)
	}
	s.wantTheirs(inCompose)
	m.wantSaid(s.adopt(), 1, "Add --yes to go on")
	s.wantTheirs(inCompose)

	m.wantSaid(s.adopt("--yes"), 0, "Tend runs "+m.scope, "tend adopt compose "+s.dir+" --undo",
		"tend adopt compose "+s.dir+" --finish")
	s.wantTheirs(inTend)
	s.wantOurs(1)
	s.wantRows(2)
	for web := range m.running("web") {
		for _, host := range []string{"db", "cache", "my_worker"} {
			if !s.finds(web, host) {
				t.Errorf("web doesn't find %s", host)
			}
		}
		if got := m.inspect(web).Image; got != m.imageID(m.scope+"-web") {
			t.Errorf("web runs the image %s", got)
		}
	}
	m.wantSaid(s.adopt("--yes"), 0, "Tend runs "+m.scope+" already")
	m.wantSaid(m.tend("apply", "-f", filepath.Join(s.dir, ".tend")), 0, "deployment/"+m.scope+"/db unchanged")

	if info, err := os.Stat(filepath.Join(s.dir, ".tend", m.scope+".hcl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the manifests: %v, %v", info, err)
	}
	s.wantOtherScopeRefused()

	m.wantSaid(s.adopt("--undo", "--yes"), 0, m.scope+" runs in Compose again")
	s.wantTheirs(inCompose)
	s.wantOurs(0)
	m.until("the old database writes", func() bool { return strings.Contains(strings.Join(s.rows(), " "), "end") })

	s.crashAfter("db: stop")
	if !s.finds(s.name("web"), "cache") {
		t.Error("web, in Compose, doesn't find cache, in Tend or not")
	}
	m.wantSaid(s.adopt("--yes"), 0, "Tend runs "+m.scope)
	s.wantTheirs(inTend)
	s.wantOurs(1)
	s.wantOneWriter()

	anonymous := s.anonymous()
	m.wantSaid(s.adopt("--finish", "--yes"), 0, "are removed")
	s.wantTheirs(nil)
	s.wantOurs(1)
	m.engine("volume", "inspect", anonymous).must()
	m.afterwards(func() { m.engine("volume", "rm", anonymous).must() })
	s.wantRows(4)
}

// wantOtherScopeRefused asserts that a command about another scope starts nothing: the containers' names say where they
// went, and without that the engine shows the pod.
func (s *composeShop) wantOtherScopeRefused() {
	s.Helper()
	other := []string{"--yes", "--scope", s.scope + "-b"}
	for _, flags := range [][]string{other, append([]string{"--undo"}, other...)} {
		s.wantSaid(s.adopt(flags...), 1, s.name("cache")+" was taken over into the scope "+s.scope, "--scope "+s.scope)
	}
	for service, state := range inTend {
		if mark, _, _ := strings.Cut(state, " "); mark != "" {
			name := s.name(service) + mark
			s.engine("rename", name+"."+s.scope, name).must()
			defer func() { s.engine("rename", name, name+"."+s.scope).must() }()
		}
	}
	for _, flags := range [][]string{other, append([]string{"--undo"}, other...)} {
		s.wantSaid(s.adopt(flags...), 1, "is in use: container ", "a pod of the scope "+s.scope, "--scope "+s.scope)
	}
	s.wantTheirs(inTend)
	s.wantOurs(1)
}

// crashAfter kills an adoption once it has printed a text.
func (s *composeShop) crashAfter(said string) {
	s.Helper()
	p := spawn(s.T, []string{"adopt", "compose", s.dir, "--yes"}, "TEND_SERVER="+s.address(), "NO_COLOR=1")
	s.Cleanup(p.kill)
	s.until("it says: "+said, func() bool { return strings.Contains(p.output.String(), said) })
	p.kill()
}

// anonymous returns the volume without a name that the cache's pod has taken over.
func (s *composeShop) anonymous() string {
	s.Helper()
	for id := range s.machine.running("cache") {
		var seen struct {
			Mounts []struct{ Name, Destination string }
		}
		s.ask("/containers/"+id+"/json", &seen)
		for _, m := range seen.Mounts {
			if m.Destination == "/keep" {
				return m.Name
			}
		}
	}
	s.Fatal("the cache's pod has no volume at /keep")
	return ""
}

// TestAdoptComposeGivesBack: a service that doesn't become good is given back with those that share its volume;
// services adopted before stay, and reach those that are in Compose.
func TestAdoptComposeGivesBack(t *testing.T) {
	m := newMachine(t).start()
	s := m.newShop()
	s.write("[/server, exit, '3']")
	r := s.adopt("--yes")
	if r.code == 0 {
		t.Errorf("exit code 0:\n%s", r.output)
	}
	m.wantSaid(r, r.code, "my_worker, web: not good; its old containers start again",
		"my_worker, web runs in Compose again", "--undo")
	want := map[string]string{"migrate": inTend["migrate"], "db": inTend["db"], "cache": inTend["cache"],
		"web": inCompose["web"], "my_worker": inCompose["my_worker"]}
	s.wantTheirs(want)
	if !s.finds(s.name("web"), "db") {
		t.Error("web, in Compose, doesn't find db, in Tend")
	}
	m.wantSaid(s.adopt("--finish", "--yes"), 1, "not taken over yet")
	m.wantSaid(s.adopt("--undo", "--yes"), 0)
	s.wantTheirs(inCompose)
	s.wantOurs(0)
	s.wantRows(3)
	s.write("[/server]") // the corrected files are applied
	m.wantSaid(s.adopt("--yes"), 0, "Tend runs "+m.scope)
	s.wantTheirs(inTend)
	s.wantOneWriter()
}
