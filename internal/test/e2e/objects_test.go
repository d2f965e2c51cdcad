//go:build integration

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/test/testimage"
)

func (m *machine) ref(name string) api.Ref {
	return api.Ref{Kind: m.kind, Scope: m.scope, Name: name}
}

// manifest returns an object of the test server, of the machine's kind, with short rollout times; edits change its
// spec.
func (m *machine) manifest(name string, edits ...func(*api.DeploymentSpec)) api.Object {
	m.Helper()
	spec := api.DeploymentSpec{Container: api.Container{Image: image("v1")},
		Strategy: &api.Strategy{Pause: "0s", Monitor: "300ms"}}
	for _, edit := range edits {
		edit(&spec)
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		m.Fatal(err)
	}
	return api.Object{Kind: m.kind, Scope: m.scope, Name: name, Spec: raw}
}

func replicas(n int) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.Replicas = &n }
}

func runs(version string) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.Image = image(version) }
}

// does makes the containers run a command of the test server instead of serving.
func does(args ...string) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.Command = append([]string{testimage.Program}, args...) }
}

func env(pairs map[string]string) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.Env = pairs }
}

func onFailure(what string) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.Strategy.OnFailure = what }
}

// apply stores a manifest and returns its revision.
func (m *machine) apply(object api.Object) int64 {
	m.Helper()
	result, err := m.client.Apply(m.Context(), api.ApplyRequest{Objects: []api.Object{object}})
	if err != nil {
		m.Fatal(err)
	}
	return result.Objects[0].Revision
}

// deploy applies a manifest and waits until it has converged.
func (m *machine) deploy(object api.Object) api.WorkloadStatus {
	m.Helper()
	return m.converged(object.Name, m.apply(object))
}

func (m *machine) status(name string) api.WorkloadStatus {
	object, err := m.client.Object(m.Context(), m.ref(name))
	if err != nil {
		return api.WorkloadStatus{}
	}
	status, err := api.DecodeStatus[api.WorkloadStatus](object)
	if err != nil {
		m.Fatal(err)
	}
	return status
}

func isTrue(status api.WorkloadStatus, condition string) bool {
	c := api.FindCondition(status.Conditions, condition)
	return c != nil && c.Status == api.ConditionTrue
}

// converged waits until an object is Ready at a revision and nothing is under way any more.
func (m *machine) converged(name string, revision int64) (status api.WorkloadStatus) {
	m.Helper()
	m.until(name+" converges", func() bool {
		status = m.status(name)
		return status.ObservedRevision >= max(revision, 1) && isTrue(status, api.ConditionReady) &&
			!isTrue(status, api.ConditionProgressing)
	})
	return status
}

// degraded waits until an object reports a fault, in a message that contains every part.
func (m *machine) degraded(name, reason string, parts ...string) (said api.Condition) {
	m.Helper()
	m.until(fmt.Sprintf("%s is Degraded for %s, saying %q", name, reason, parts), func() bool {
		c := api.FindCondition(m.status(name).Conditions, api.ConditionDegraded)
		if c == nil || c.Status != api.ConditionTrue || c.Reason != reason {
			return false
		}
		said = *c
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(c.Message+"\n"+c.Next, part) })
	})
	return said
}

// pods returns the live pods of an object, in the order of their names.
func (m *machine) pods(name string) []api.Pod {
	m.Helper()
	list, err := m.client.Pods(m.Context(), client.PodFilter{Kind: m.kind, Scope: m.scope, Name: name})
	if err != nil {
		m.Fatal(err)
	}
	live := slices.DeleteFunc(list.Items, func(p api.Pod) bool { return !p.Live() })
	slices.SortFunc(live, func(a, b api.Pod) int { return strings.Compare(a.Name, b.Name) })
	return live
}

// containers returns the ids of the containers of an object's live pods.
func (m *machine) containers(name string) []string {
	m.Helper()
	var ids []string
	for _, pod := range m.pods(name) {
		ids = append(ids, pod.Container)
	}
	slices.Sort(ids)
	return ids
}

// delete removes an object and waits until it and its containers are gone.
func (m *machine) delete(name string) {
	m.Helper()
	if _, err := m.client.Delete(m.Context(), m.ref(name)); err != nil {
		m.Fatal(err)
	}
	m.gone(name)
}

func (m *machine) gone(name string) {
	m.Helper()
	m.until(name+" is gone", func() bool {
		_, err := m.client.Object(m.Context(), m.ref(name))
		return client.IsNotFound(err)
	})
	for _, b := range m.boxes("tend.scope=" + m.scope) {
		if b.Labels["tend.name"] == name {
			m.Errorf("%s is gone, its container %s is left behind", name, b.name())
		}
	}
}

// exactly asserts that an object's containers are n, all running a version of the image and nothing else beside them.
func (m *machine) exactly(name string, n int, version string) {
	m.Helper()
	want := m.imageID(image(version))
	got := m.running(name)
	for _, b := range got {
		if b.ImageID != want {
			m.Errorf("%s runs %s, want %s of %s", b.name(), b.ImageID, want, version)
		}
	}
	if len(got) != n {
		m.Errorf("%d containers of %s run, want %d: %v", len(got), name, n, got)
	}
}

func (m *machine) imageID(reference string) string {
	m.Helper()
	var seen struct{ ID string }
	if !m.ask("/images/"+reference+"/json", &seen) {
		m.Fatalf("there is no image %s", reference)
	}
	return seen.ID
}

// goOn is the file that the program of a test image waits for before it continues; goesOn makes it. If the container
// ends because of it, that may be before the engine answered.
const goOn = "/go"

func (m *machine) goesOn(container string) {
	m.Helper()
	m.engine("exec", container, testimage.Program, "write", goOn, "on").ignored()
}

var web = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// answer returns a pod's answer over its published port, or "".
func answer(pod api.Pod) string {
	if len(pod.Ports) == 0 {
		return ""
	}
	response, err := web.Get(fmt.Sprintf("http://127.0.0.1:%d/", pod.Ports[0].HostPort))
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	return string(body)
}
