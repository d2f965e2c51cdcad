//go:build integration

package docker_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/volumes"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/test/testimage"
)

// byHand runs a container as a person does, until the test ends, and returns its name.
func byHand(t *testing.T, flags ...string) string {
	t.Helper()
	name := run + "-" + random()
	args := append(append([]string{"run", "-d", "--name", name}, flags...), image, testimage.Program)
	if output, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
		t.Fatalf("docker run: %v: %s", err, output)
	}
	t.Cleanup(func() {
		if output, err := exec.Command("docker", "rm", "-f", "-v", name).CombinedOutput(); err != nil {
			t.Errorf("docker rm: %v: %s", err, output)
		}
	})
	return name
}

// TestSecondWriter: the writers of a volume or a folder are found in the engine's own containers, however it was
// mounted.
func TestSecondWriter(t *testing.T) {
	cluster := "tendtest-" + random()
	rt := newRuntime(t, cluster)
	t.Cleanup(func() { _ = rt.Close() })
	neighbours, ok := rt.(runtime.Neighbours)
	if !ok {
		t.Fatal("the runtime can't see other containers")
	}
	folder, err := os.MkdirTemp("/var/tmp", "tendtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	data, link, file := filepath.Join(folder, "data"), filepath.Join(folder, "link"), filepath.Join(folder, "file")
	for _, err := range []error{os.Mkdir(data, 0o755), os.Symlink(data, link), os.WriteFile(file, nil, 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	volume, read := run+"-written", run+"-read"
	t.Cleanup(func() {
		if output, err := exec.Command("docker", "volume", "rm", volume, read, run+"-own").CombinedOutput(); err != nil {
			t.Errorf("docker volume rm: %v: %s", err, output)
		}
	})
	writer := byHand(t, "-v", volume+":/data", "-v", read+":/read:ro", "-v", data+":/folder", "-v", file+":/file",
		"--label", volumes.LabelProject+"=shop", "--label", volumes.LabelService+"=db")
	own := byHand(t, "--label", api.LabelCluster+"="+cluster, "-v", run+"-own:/own", "-v", volume+":/data")

	spec := func(entries ...string) api.DeploymentSpec {
		return api.DeploymentSpec{Container: api.Container{Volumes: entries}}
	}
	byFlag := api.DeploymentSpec{Container: api.Container{DockerOptions: []string{"--mount", "type=volume,source=" +
		volume + ",target=/x"}}}
	shared := spec(volume + ":/x")
	shared.Labels = map[string]string{api.SharedVolumes: volume}
	for name, tc := range map[string]struct {
		reason string
		spec   api.DeploymentSpec
		want   string
	}{
		"volume":        {"it writes to it", spec(volume + ":/x"), volume},
		"by flag":       {"a flag mounts as well", byFlag, volume},
		"read here":     {"a reader may stand beside a writer", spec(volume + ":/x:ro"), ""},
		"read there":    {"a writer may stand beside a reader", spec(read + ":/x"), ""},
		"shared":        {"the manifest says so", shared, ""},
		"folder":        {"a folder is data too", spec(data + ":/x"), data},
		"by a link":     {"it is the same folder", spec(link + ":/x"), data},
		"around it":     {"a folder inside of another one is another one", spec(folder + ":/x"), ""},
		"file":          {"a file isn't a data folder", spec(file + ":/x"), ""},
		"unused":        {"nobody has it", spec(run + "-unused:/x"), ""},
		"of one's own":  {"pods of one cluster share volumes", spec(run + "-own:/x"), ""},
		"second of two": {"each is asked for", spec(run+"-unused:/y", volume+":/x"), volume},
	} {
		got, found, err := neighbours.SecondWriter(t.Context(), tc.spec)
		if err != nil || found != (tc.want != "") || got.Source != tc.want {
			t.Errorf("%s: %s: %+v, %v, %v", name, tc.reason, got, found, err)
		}
		if found && (got.Container != writer || got.Project != "shop" || got.Service != "db") {
			t.Errorf("%s: it names %+v, not %s", name, got, writer)
		}
	}
	if got, found, err := neighbours.SecondWriterOf(t.Context(), own); !found || err != nil || got.Container != writer ||
		got.Source != volume {
		t.Errorf("of a container: %+v, %v, %v", got, found, err)
	}
	if output, err := exec.Command("docker", "stop", "-t", "0", writer).CombinedOutput(); err != nil {
		t.Fatalf("docker stop: %v: %s", err, output)
	}
	if got, found, err := neighbours.SecondWriter(t.Context(), spec(volume+":/x")); found || err != nil {
		t.Errorf("it has stopped, and is found: %+v, %v", got, err)
	}
	if got, found, err := neighbours.SecondWriterOf(t.Context(), own); found || err != nil {
		t.Errorf("of a container: it has stopped, and is found: %+v, %v", got, err)
	}
}

// TestOnePlaceOfManyNames: a volume is the folder where the engine keeps it, a volume that binds a folder is the
// folder, a link is its target, and the mounts of another container count too.
func TestOnePlaceOfManyNames(t *testing.T) {
	rt := newRuntime(t, "tendtest-"+random())
	t.Cleanup(func() { _ = rt.Close() })
	neighbours := rt.(runtime.Neighbours)
	folder, err := os.MkdirTemp("/var/tmp", "tendtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	data, link := filepath.Join(folder, "data"), filepath.Join(folder, "link")
	for _, err := range []error{os.Mkdir(data, 0o755), os.Symlink(data, link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	volume, bound, free := run+"-kept-"+random(), run+"-bound-"+random(), run+"-free-"+random()
	docker := func(args ...string) string {
		t.Helper()
		output, err := exec.Command("docker", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %v: %v: %s", args, err, output)
		}
		return strings.TrimSpace(string(output))
	}
	docker("volume", "create", volume)
	docker("volume", "create", "-o", "type=none", "-o", "o=bind", "-o", "device="+link, bound)
	docker("volume", "create", free)
	t.Cleanup(func() { _ = exec.Command("docker", "volume", "rm", volume, bound, free).Run() })
	kept := docker("volume", "inspect", "-f", "{{.Mountpoint}}", volume)
	byVolume := byHand(t, "-v", volume+":/data")
	byFolder := byHand(t, "-v", data+":/data")
	holder := byHand(t, "-v", free+":/x:ro", "-v", volume+":/y:ro")

	flags := func(options ...string) api.DeploymentSpec {
		return api.DeploymentSpec{Container: api.Container{DockerOptions: options}}
	}
	mounts := func(entries ...string) api.DeploymentSpec {
		return api.DeploymentSpec{Container: api.Container{Volumes: entries}}
	}
	shared := mounts(data + ":/x")
	shared.Labels = map[string]string{api.SharedVolumes: link}
	inits := api.DeploymentSpec{Inits: []api.Init{{Name: "seed", DockerOptions: []string{"-v", volume + ":/x"}}}}
	for name, tc := range map[string]struct {
		spec              api.DeploymentSpec
		container, source string
	}{
		"the volume's folder":      {mounts(kept + ":/x"), byVolume, volume},
		"by flag":                  {flags("-v", kept+":/x"), byVolume, volume},
		"a volume that binds":      {mounts(bound + ":/x"), byFolder, data},
		"an init's":                {inits, byVolume, volume},
		"another container's":      {flags("--volumes-from", byVolume), byVolume, volume},
		"another's, read-only":     {flags("--volumes-from", byVolume+":ro"), "", ""},
		"what another reads":       {flags("--volumes-from", holder), "", ""},
		"nobody's":                 {mounts(free + ":/x"), "", ""},
		"shared, by another name":  {shared, "", ""},
		"a folder inside of one's": {mounts(kept + "/sub:/x"), "", ""},
	} {
		got, found, err := neighbours.SecondWriter(t.Context(), tc.spec)
		if err != nil || found != (tc.container != "") || got.Container != tc.container || got.Source != tc.source {
			t.Errorf("%s: %+v, %v, %v", name, got, found, err)
		}
	}
}

// TestWritersBesideWhatRuns: a container that was started later is found beside the one of the cluster that runs.
func TestWritersBesideWhatRuns(t *testing.T) {
	cluster := "tendtest-" + random()
	rt := newRuntime(t, cluster)
	t.Cleanup(func() { _ = rt.Close() })
	neighbours := rt.(runtime.Neighbours)
	volume := run + "-beside-" + random()
	t.Cleanup(func() { _ = exec.Command("docker", "volume", "rm", volume).Run() })
	own := byHand(t, "--label", api.LabelCluster+"="+cluster, "-v", volume+":/data")
	byHand(t, "--label", api.LabelCluster+"="+cluster, "-v", volume+":/data:ro")
	if got, err := neighbours.SecondWriters(t.Context()); err != nil || len(got) != 0 {
		t.Fatalf("nobody else runs: %v, %v", got, err)
	}
	later := byHand(t, "-v", volume+":/data")
	got, err := neighbours.SecondWriters(t.Context())
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	id, err := exec.Command("docker", "inspect", "-f", "{{.Id}}", own).Output()
	if writer := got[strings.TrimSpace(string(id))]; err != nil || writer.Container != later || writer.Source != volume {
		t.Errorf("%v, %v", got, err)
	}
}
