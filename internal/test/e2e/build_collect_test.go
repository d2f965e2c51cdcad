//go:build integration

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// releaseImages returns the images of an object's kept releases.
func (m *machine) releaseImages(kind api.Kind, name string) (out []string) {
	m.Helper()
	list, err := m.client.Releases(m.Context(), client.Target{Kind: kind, Scope: m.scope, Name: name})
	if err != nil {
		m.Fatal(err)
	}
	for _, release := range list.Items {
		out = append(out, release.Image)
	}
	return out
}

// TestSurplusImagesAreCollected: those beyond keep_releases go; none that a stopped slot, a run or a release still
// needs, and none of another object.
func TestSurplusImagesAreCollected(t *testing.T) {
	m := newMachine(t).start()
	s := m.source(`deployment "SCOPE" "app" {
  build { }
  keep_releases = 2
  strategy {
    pause   = "0s"
    monitor = "300ms"
  }
}
deployment "SCOPE" "held" {
  build { }
  keep_releases = 1
  strategy {
    pause   = "0s"
    monitor = "300ms"
  }
}
job "SCOPE" "work" {
  build { }
  command = ["/server", "sleep", "600s"]
}
`)
	for _, name := range []string{"held", "work", "foreign"} {
		m.afterwards(func() { m.removeBuilt(name) })
	}
	m.wantSaid(s.apply(), 0)
	first := map[string]string{}
	for _, name := range []string{"app", "held", "work"} {
		tags := m.builtImages(name)
		tags = slices.DeleteFunc(tags, func(tag string) bool { return strings.HasSuffix(tag, ":latest") })
		if len(tags) != 1 {
			t.Fatalf("%s has images %v", name, tags)
		}
		first[name] = tags[0]
	}
	m.wantSaid(m.tend("stop", "deployment", m.scope+"/held"), 0)
	m.wantSaid(m.tend("run", "job", m.scope+"/work", "--detach"), 0)
	m.until("the run has its container", func() bool { return len(m.boxesOf("work")) == 1 })
	foreign := m.scope + "-foreign:0123456789ab"
	m.engine("tag", image("v1"), foreign).must()

	for _, page := range []string{"two", "three", "four"} {
		s.write("page", page, 0o644)
		m.wantSaid(s.apply("--no-wait"), 0)
		m.until("page "+page+" serves", func() bool {
			status := m.status("app")
			return status.Rollout.Phase == api.RolloutComplete && m.imageID(m.scope+"-app:latest") == m.runningImage("app") &&
				strings.HasSuffix(m.releaseOf("app"), m.wantedBuild("app"))
		})
	}
	m.until("only the releases to keep are left",
		func() bool { return len(m.releaseImages(api.KindDeployment, "app")) == 2 })
	m.terminate()
	m.start() // it collects when it starts
	oldest := filepath.Join(m.root, "quarantine", "images", "waiting", first["app"])
	m.until("the surplus waits in quarantine", func() bool { _, err := os.Stat(oldest); return err == nil })
	if !slices.Contains(m.builtImages("app"), first["app"]) {
		t.Error("an image was deleted without a day in quarantine")
	}
	m.terminate()
	m.age(filepath.Join(m.root, "quarantine", "images", "waiting"), 25*time.Hour)
	m.start()
	want := append(m.releaseImages(api.KindDeployment, "app"), m.scope+"-app:latest")
	slices.Sort(want)
	m.until("the images beyond them are gone", func() bool {
		got := m.builtImages("app")
		slices.Sort(got)
		return slices.Equal(got, want)
	})
	if slices.Contains(m.builtImages("app"), first["app"]) {
		t.Error("the first image of app stays")
	}
	for _, name := range []string{"held", "work"} {
		if !slices.Contains(m.builtImages(name), first[name]) {
			t.Errorf("%s lost the image that its slot or run has: %v", name, m.builtImages(name))
		}
	}
	if !slices.Contains(m.builtImages("foreign"), foreign) {
		t.Error("an image that wasn't built here was removed")
	}
	// What is kept can be returned to without a build.
	before := m.built("app")
	m.wantSaid(m.tend("rollback", "deployment", m.scope+"/app"), 0)
	m.wantSaid(m.tend("start", "deployment", m.scope+"/held"), 0)
	m.converged("held", 0)
	if m.built("app") != before {
		t.Error("the rollback built something")
	}
	m.wantSaid(m.tend("stop", "job", m.scope+"/work"), 0)
	m.collectsWithItsObject("app")
}

// collectsWithItsObject deletes an object: its images go after a day in quarantine, but for a tag that someone else
// set.
func (m *machine) collectsWithItsObject(name string) {
	m.Helper()
	other := m.scope + "-" + name + ":mine"
	m.engine("tag", m.releaseOf(name), other).must()
	m.delete(name)
	m.terminate()
	m.start() // it collects when it starts
	waiting := filepath.Join(m.root, "quarantine", "images", "waiting")
	m.until("the images wait in quarantine", func() bool {
		return !slices.ContainsFunc(m.builtImages(name), func(image string) bool {
			_, err := os.Stat(filepath.Join(waiting, image))
			return err != nil && image != other
		})
	})
	m.terminate()
	m.age(waiting, 25*time.Hour)
	m.start()
	m.until("the images are gone", func() bool { return slices.Equal(m.builtImages(name), []string{other}) })
}

// age sets the times of all files below a folder back.
func (m *machine) age(folder string, by time.Duration) {
	m.Helper()
	past := time.Now().Add(-by)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, past, past)
	})
	if err != nil {
		m.Fatal(err)
	}
}

// wantedBuild returns the id of the build for an object's present source.
func (m *machine) wantedBuild(name string) string {
	m.Helper()
	object, err := m.client.Object(m.Context(), m.ref(name))
	if err != nil {
		m.Fatal(err)
	}
	return strings.TrimPrefix(object.Tree(), "sha256:")[:12]
}

// built returns the number of times the server built an image of an object.
func (m *machine) built(name string) (n int) {
	for line := range strings.Lines(m.process.output.String()) {
		if strings.Contains(line, `"image built"`) && strings.Contains(line, "image="+m.scope+"-"+name+":") {
			n++
		}
	}
	return n
}
