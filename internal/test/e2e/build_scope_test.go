//go:build integration

package e2e

import "testing"

// TestABuildIsForItsScope: an image that one scope built can't be used by another scope, by its name or its id. Its own
// scope can use it.
func TestABuildIsForItsScope(t *testing.T) {
	m := newMachine(t).start()
	s := m.source(sourceManifest)
	m.wantSaid(s.apply(), 0, "1 of 1 replicas run v1")
	built := m.runningImage("app")
	other := m.scope + "-x"
	m.afterwards(func() { m.removeContainers("tend.scope=" + other) })
	for name, image := range map[string]string{"named": m.scope + "-app:latest", "whole": "docker.io/library/" + m.scope +
		"-app", "known": built} {
		stolen := m.file(name+".hcl", "deployment \""+other+"\" \""+name+"\" {\n  image = \""+image+"\"\n}\n")
		m.wantSaid(m.tend("apply", "-f", stolen), 1, "no image ")
		if boxes := m.boxes("tend.scope=" + other); len(boxes) > 0 {
			t.Errorf("%s: scope %s runs what %s built: %v", name, other, m.scope, boxes)
		}
	}
	own := m.file("own.hcl", "deployment \"SCOPE\" \"own\" {\n  image = \"SCOPE-app:latest\"\n}\n")
	m.wantSaid(m.tend("apply", "-f", own), 0, "1 of 1 replicas run v1")
	if m.runningImage("own") != built {
		t.Error("the scope's own build is another image")
	}
}
