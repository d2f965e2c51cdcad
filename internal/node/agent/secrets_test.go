package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// vault is a harness whose tasks have a secret file, with what their containers were made from.
type vault struct {
	*harness
	mu   sync.Mutex
	made []runtime.ContainerSpec
	// absent lists the files that were missing at a start.
	absent []string
}

func newVault(t *testing.T, memory string) *vault {
	v := &vault{harness: newHarness(t)}
	v.memory, v.env = memory, `{"COLOUR":"blue","=/run/secrets/db":"hunter2\n","=/etc/app/token":"t0ken"}`
	v.engine.Behave(func(spec runtime.ContainerSpec) hollow.Behaviour {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.made = append(v.made, spec)
		return hollow.Behaviour{}
	})
	v.engine.Before(func(verb, subject string) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		if verb == "start" {
			for _, file := range v.made[len(v.made)-1].Files {
				if _, err := os.Stat(file.Source); err != nil {
					v.absent = append(v.absent, file.Target)
				}
			}
		}
		return nil
	})
	return v
}

func (v *vault) deploy(change func(*api.DeploymentSpec)) api.Task {
	return v.harness.deploy(taskID(1), func(_ *api.Task, spec *api.DeploymentSpec) {
		spec.SecretFiles = map[string]string{"/run/secrets/db": "DB", "/etc/app/token": "TOKEN"}
		if change != nil {
			change(spec)
		}
	})
}

// contents returns the secret files in memory.
func (v *vault) contents() map[string]string {
	v.t.Helper()
	files, err := filepath.Glob(filepath.Join(v.memory, "*", "*"))
	if err != nil {
		v.t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			v.t.Fatal(err)
		}
		found[file] = string(raw)
	}
	return found
}

// Secret files exist before their container is created and at each start, also after a reboot emptied the folder; the
// environment has none of them; and they are deleted with the container.
func TestSecretFiles(t *testing.T) {
	memory := filepath.Join(t.TempDir(), "c0ffee", "secrets")
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t, memory)
		left := filepath.Join(memory, "0badc0de")
		if err := os.MkdirAll(left, 0o700); err != nil {
			t.Fatal(err)
		}
		v.start()
		defer v.close()
		v.pass(time.Minute)
		if _, err := os.Stat(left); err == nil {
			t.Error("what a crash left behind of a task that is gone is still there")
		}
		task := v.deploy(nil)
		v.settle()
		v.want(task, api.TaskRunning, true, "")
		spec := v.made[0]
		got := map[string]string{}
		for _, file := range spec.Files {
			raw, err := os.ReadFile(file.Source)
			if err != nil {
				t.Fatal(err)
			}
			got[file.Target] = string(raw)
			if info, _ := os.Stat(file.Source); info.Mode() != 0o400 {
				t.Errorf("%s has mode %s", file.Target, info.Mode())
			}
			if folder, _ := os.Stat(filepath.Dir(file.Source)); folder.Mode().Perm() != 0o700 {
				t.Errorf("its folder has mode %s", folder.Mode())
			}
		}
		if diff := cmp.Diff(map[string]string{"/run/secrets/db": "hunter2\n", "/etc/app/token": "t0ken"}, got); diff != "" {
			t.Error(diff)
		}
		for name, value := range spec.Env {
			if strings.Contains(name+value, "hunter2") || strings.HasPrefix(name, "=") {
				t.Errorf("the environment has %s", name)
			}
		}

		for file := range v.contents() { // a reboot
			v.must(os.RemoveAll(filepath.Dir(file)))
		}
		v.must(v.engine.StopByHand(task.ContainerName()))
		v.pass(time.Minute)
		v.want(task, api.TaskRunning, true, "")
		if len(v.contents()) != 2 || len(v.absent) != 0 {
			t.Errorf("after a reboot there are %d files; a start found missing: %v", len(v.contents()), v.absent)
		}

		v.raise(task, api.DesiredRemoved)
		v.pass(time.Minute)
		if found := v.contents(); len(found) != 0 {
			t.Errorf("the container is gone, its files aren't: %v", found)
		}
		if _, err := os.Stat(filepath.Dir(memory)); err == nil {
			t.Error("the last file is gone, the folder isn't")
		}
	})
}

func TestSecretFilesAreRefused(t *testing.T) {
	memory := t.TempDir()
	for name, tc := range map[string]struct {
		reason, memory string
		change         func(*api.DeploymentSpec)
		want           string
	}{
		"no memory": {"they don't belong on a disk", "", nil, "NoMemoryFolder"},
		"a name": {"only the image knows who that is", memory,
			func(s *api.DeploymentSpec) { s.User = "app" }, "SecretFileOwner"},
		"a name in docker_options": {"that counts too", memory,
			func(s *api.DeploymentSpec) { s.DockerOptions = []string{"--user", "app"} }, "SecretFileOwner"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVault(t, tc.memory)
				v.start()
				defer v.close()
				task := v.deploy(tc.change)
				v.settle()
				v.want(task, api.TaskRejected, false, tc.want)
				if v.container(task).Name != "" {
					t.Errorf("%s: a container was made", tc.reason)
				}
			})
		})
	}
}

// TestLastLogDoesNotShowTheEnvironment: secrets that a container printed are not stored.
func TestLastLogDoesNotShowTheEnvironment(t *testing.T) {
	memory := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		v := newVault(t, memory)
		v.start()
		defer v.close()
		task := v.deploy(func(s *api.DeploymentSpec) { s.DockerOptions = []string{"-e", "EXTRA=s3cret"} })
		v.settle()
		line := "token=t0ken colour=blue extra=s3cret "
		line += strings.Repeat("-", 4<<10-4-len(line)) + "hunter2" // what is kept ends within it
		for range 12 {
			_ = v.engine.Print(task.ContainerName(), "stdout", line)
			_ = v.engine.Exit(task.ContainerName(), 1)
			v.pass(time.Second)
		}
		v.pass(time.Minute)
		redacted := 0
		for _, txn := range v.store.reports() {
			for _, op := range txn.Do {
				text := string(op.Value)
				redacted += strings.Count(text, "token=[redacted] colour=[redacted] extra=[redacted]")
				if strings.Contains(text, "t0ken") || strings.Contains(text, "s3cret") || strings.Contains(text, "-hunt") {
					t.Errorf("%s shows the value", op.Key)
				}
			}
		}
		if redacted == 0 {
			t.Error("no last lines were stored at all")
		}
	})
}
