//go:build integration

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// newSets is a machine whose objects are statefulsets.
func newSets(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t)
	m.kind = api.KindStatefulSet
	return m.start()
}

// set is a statefulset whose ordinals have a volume at /data.
func (m *machine) set(name string, edits ...func(*api.DeploymentSpec)) api.Object {
	m.Helper()
	object := m.manifest(name, edits...)
	var spec map[string]any
	if err := json.Unmarshal(object.Spec, &spec); err != nil {
		m.Fatal(err)
	}
	spec["volume_claims"] = []api.VolumeClaim{{Name: "data", MountPath: "/data"}}
	object.Spec = mustJSON(m.T, spec)
	m.afterwards(func() {
		for ordinal := range 5 {
			m.engine("volume", "rm", "-f", m.volume(name, ordinal)).ignored()
		}
	})
	return object
}

func (m *machine) volume(name string, ordinal int) string {
	return api.ClaimVolume(m.ref(name), "data", ordinal)
}

func (m *machine) ordinal(name string, ordinal int) string {
	return m.ref(name).AppID() + "." + strconv.Itoa(ordinal)
}

// inside runs a command of the test server in an ordinal's container.
func (m *machine) inside(name string, ordinal int, args ...string) engineResult {
	m.Helper()
	return m.engine(append([]string{"exec", m.ordinal(name, ordinal), testimage.Program}, args...)...)
}

// story returns the events of an object's containers by ordinal, in order: "start 0", "die 2".
func (h *history) story(name string) (out []string) {
	for _, event := range h.all() {
		if attributes := event.Actor.Attributes; attributes["tend.name"] == name {
			out = append(out, event.Action+" "+attributes["tend.slot"])
		}
	}
	return out
}

// became waits for a story: the engine reports an end a moment after it.
func (h *history) became(name string, want ...string) {
	h.m.Helper()
	var story []string
	h.m.until(fmt.Sprintf("the events of %s are %v", name, want), func() bool {
		story = h.story(name)
		return len(story) >= len(want)
	})
	h.caughtUp()
	story = h.story(name)
	if !slices.Equal(story, want) {
		h.m.Errorf("it happened as %v, want %v", story, want)
	}
}

// TestStatefulSetGoesInOrder: up from ordinal 0, down, replaced and rolled back from the top, ordinal 0 last.
func TestStatefulSetGoesInOrder(t *testing.T) {
	m := newSets(t)
	h := m.follow()
	m.deploy(m.set("db", replicas(3)))
	h.became("db", "start 0", "start 1", "start 2")
	h.stop()

	h = m.follow()
	status := m.deploy(m.set("db", replicas(3), runs("v2")))
	h.became("db", "die 2", "start 2", "die 1", "start 1", "die 0", "start 0")
	h.stop()
	m.exactly("db", 3, "v2")
	if status.Release != "v2" || status.Ready != 3 {
		t.Errorf("%+v", status)
	}

	// More of it and another version at once: what is missing comes first, of the new version; none keeps the old one.
	h = m.follow()
	m.deploy(m.set("db", replicas(4), runs("v3")))
	h.became("db", "start 3", "die 2", "start 2", "die 1", "start 1", "die 0", "start 0")
	h.stop()
	m.exactly("db", 4, "v3")

	h = m.follow()
	m.wantSaid(m.tend("scale", m.scope+"/db", "1"), 0, "scaled from 4 to 1")
	h.became("db", "die 3", "die 2", "die 1")
	h.stop()

	m.wantSaid(m.tend("scale", m.scope+"/db", "2"), 0)
	h = m.follow()
	m.wantSaid(m.tend("restart", m.scope+"/db"), 0)
	h.became("db", "die 1", "start 1", "die 0", "start 0")
	h.stop()
	m.exactly("db", 2, "v3")
	m.rollsSetBack()
}

// rollsSetBack rolls a statefulset of two back to its first release by hand, and then has it roll back by itself from a
// release that fails: what that one did not touch stays untouched.
func (m *machine) rollsSetBack() {
	m.Helper()
	h := m.follow()
	m.wantSaid(m.tend("rollback", m.scope+"/db", "v1"), 0, "rolling back to v1")
	h.became("db", "die 1", "start 1", "die 0", "start 0")
	h.stop()
	m.exactly("db", 2, "v1")
	m.wantSaid(m.tend("releases", m.scope+"/db"), 0, "v1", "v2", "v3")

	before := m.inspect(m.ordinal("db", 0)).ID
	revision := m.apply(m.set("db", replicas(2), does("exit", "3"), onFailure(api.OnFailureRollback), watched("3s")))
	m.until("it turned back", func() bool {
		status := m.status("db")
		return status.ObservedRevision >= revision && status.Rollout != nil && status.Rollout.Phase == api.RolloutRolledBack
	})
	m.exactly("db", 2, "v1")
	if after := m.inspect(m.ordinal("db", 0)).ID; after != before {
		m.Error("ordinal 0 was replaced, though only ordinal 1 had been touched")
	}
}

// TestStatefulSetKeepsItsVolumes: an ordinal has a name and a volume of its own, and keeps the volume through a
// rollout, a scale to nothing, and a delete with an apply after it. A rebootstrap empties one ordinal's and no other's.
func TestStatefulSetKeepsItsVolumes(t *testing.T) {
	m := newSets(t)
	m.deploy(m.set("db", replicas(2)))
	m.knowsItsOrdinal()
	for ordinal := range 2 {
		m.inside("db", ordinal, "write", "/data/mark", "of "+strconv.Itoa(ordinal)).must()
	}
	holds := func(when string, ordinal int) {
		t.Helper()
		if got := m.inside("db", ordinal, "cat", "/data/mark"); got.output != "of "+strconv.Itoa(ordinal) {
			t.Errorf("%s ordinal %d holds %q (%v)", when, ordinal, got.output, got.err)
		}
	}
	m.deploy(m.set("db", replicas(2), runs("v2")))
	holds("after a rollout", 0)
	holds("after a rollout", 1)
	m.wantSaid(m.tend("scale", m.scope+"/db", "0"), 0)
	m.wantSaid(m.tend("scale", m.scope+"/db", "2"), 0)
	holds("after scaling", 1)
	m.wantSaid(m.tend("delete", m.scope+"/db"), 0, "volumes stay: "+m.volume("db", 0)+" "+m.volume("db", 1))
	m.gone("db")
	m.deploy(m.set("db", replicas(2)))
	holds("after a delete", 0)
	holds("after a delete", 1)

	m.wantSaid(m.tend("rebootstrap", m.scope+"/db", "1"), 1, "--yes")
	holds("after a refusal", 1)
	h := m.follow()
	m.wantSaid(m.tend("rebootstrap", m.scope+"/db", "1", "--yes"), 0, m.volume("db", 1))
	h.became("db", "die 1", "start 1")
	if got := m.inside("db", 1, "cat", "/data/mark"); got.err == nil {
		t.Errorf("after its rebootstrap ordinal 1 holds %q", got.output)
	}
	holds("after the rebootstrap of the other", 0)
	m.wantSaid(m.tend("rebootstrap", m.scope+"/db", "7", "--yes"), 1, "no ordinal 7")
}

// knowsItsOrdinal asserts that ordinal 1 of 2 is known as that in its environment, in DNS, and by its volume.
func (m *machine) knowsItsOrdinal() {
	m.Helper()
	env := m.inspect(m.ordinal("db", 1)).Config.Env
	for _, want := range []string{
		"TEND_REPLICA_ORDINAL=1", "TEND_REPLICA_ID=1", "VOODU_REPLICA_ORDINAL=1", "VOODU_REPLICA_ID=1", "TEND_NAME=db",
		"VOODU_SCOPE=" + m.scope,
	} {
		if !slices.Contains(env, want) {
			m.Errorf("the environment lacks %s: %v", want, env)
		}
	}
	address := m.inspect(m.ordinal("db", 1)).NetworkSettings.Networks[m.network].IPAddress
	for _, zone := range []string{"", ".tend", ".voodu"} {
		if got := m.inside("db", 0, "lookup", "db-1."+m.scope+zone).must(); got != address {
			m.Errorf("db-1.%s%s is %q from beside it, want %s", m.scope, zone, got, address)
		}
		if got := strings.Fields(m.inside("db", 0, "lookup", "db."+m.scope+zone).must()); len(got) != 2 {
			m.Errorf("db.%s%s is %v, want both ordinals", m.scope, zone, got)
		}
	}
	var volume struct{ Labels map[string]string }
	if !m.ask("/volumes/"+m.volume("db", 1), &volume) {
		m.Fatal("there is no volume of ordinal 1")
	}
	for label, want := range map[string]string{
		api.LabelKind: "statefulset", api.LabelScope: m.scope, api.LabelName: "db", api.LabelClaim: "data",
		api.LabelOrdinal: "1",
	} {
		if volume.Labels[label] != want {
			m.Errorf("the volume's label %s is %q, want %q", label, volume.Labels[label], want)
		}
	}
}
