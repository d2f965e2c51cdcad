//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// TestPulledImagesGo: images pulled for deleted releases are removed after a day in quarantine. Images that were there
// before, that another program's container uses, that a person named, or that a rollback may need, stay.
func TestPulledImagesGo(t *testing.T) {
	s := newShop(t)
	s.release()
	s.open.Store(true)
	repository, _, _ := strings.Cut(s.reference, "/tendtest/goods")
	repository += "/tendtest/goods:"
	tags := []string{"v1", "before", "foreign", "named", "v5"}
	for _, tag := range tags[1:] {
		s.reference = repository + tag
		s.stock()
	}
	m := newMachine(t).start()
	m.afterwards(func() {
		for _, tag := range append(tags, "mine") {
			m.engine("rmi", "-f", repository+tag).ignored()
		}
	})
	m.engine("pull", repository+"before").must()
	for _, tag := range tags {
		m.deploy(m.manifest("app", func(o *api.DeploymentSpec) { o.Image, o.KeepReleases = repository+tag, new(1) }))
	}
	foreign := m.engine("create", repository+"foreign", testimage.Program).must()
	m.afterwards(func() { m.engine("rm", foreign).ignored() })
	m.engine("tag", repository+"named", repository+"mine").must()
	m.until("one release is kept", func() bool {
		return slices.Equal(m.releaseImages(api.KindDeployment, "app"), []string{repository + "v5"})
	})

	m.collectsPulled(2) // v1 and named; foreign is in use
	m.until("the image of the first release is gone",
		func() bool { return m.engine("image", "inspect", repository+"v1").err != nil })
	for _, tag := range []string{"before", "foreign", "mine", "v5"} {
		m.engine("image", "inspect", repository+tag).must()
	}
	m.engine("rm", foreign).must()
	m.delete("app")
	m.wantSaid(m.tend("system", "df", "-o", "wide"), 0, "RECLAIMABLE", repository+"foreign", repository+"v5")
	m.wantSaid(m.tend("system", "prune", "--dry-run"), 0, repository+"v5", "would be removed")
	m.engine("image", "inspect", repository+"v5").must()
	pruned := m.tend("system", "prune")
	m.wantSaid(pruned, 0, repository+"foreign", repository+"v5", "removed")
	for _, tag := range []string{"foreign", "v5"} {
		if m.engine("image", "inspect", repository+tag).err == nil {
			t.Errorf("%s stays:\n%s", tag, pruned.output)
		}
	}
	m.wantSaid(m.tend("system", "prune"), 0, "every image that Tend pulled or built is needed")
	for _, tag := range []string{"before", "mine"} {
		m.engine("image", "inspect", repository+tag).must()
	}
	claimed, err := os.ReadDir(filepath.Join(m.root, "quarantine", "pulled", "owners", m.cluster()))
	if err != nil || len(claimed) > 0 {
		t.Errorf("still recorded: %v, %v", claimed, err)
	}
}

// collectsPulled collects twice, with a day in between: so many images wait for it.
func (m *machine) collectsPulled(waiting int) {
	m.Helper()
	folder := filepath.Join(m.root, "quarantine", "pulled", "waiting")
	m.terminate()
	m.start() // it collects when it starts
	m.until("the images wait in quarantine", func() bool {
		entries, _ := os.ReadDir(folder)
		return len(entries) == waiting
	})
	m.terminate()
	m.age(folder, 25*time.Hour)
	m.start()
}

// cluster returns the id of the machine's cluster.
func (m *machine) cluster() string {
	m.Helper()
	entries, err := os.ReadDir(filepath.Join(m.root, "quarantine", "pulled", "owners"))
	if err != nil || len(entries) != 1 {
		m.Fatalf("the clusters that own pulled images: %v, %v", entries, err)
	}
	return entries[0].Name()
}
