package syncer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a Syncer over a verb that keeps what it is asked for.
type world struct {
	*testing.T
	syncer *Syncer
	// applied are the images of the last apply, as name=image, and how it was asked for.
	applied string
	opts    verbs.ApplyOptions
	refuse  error
}

func newWorld(t *testing.T) *world {
	w := &world{T: t}
	w.syncer = New(Options{
		Folder: filepath.Join(t.TempDir(), "syncs"), Settle: time.Millisecond,
		Environ: func() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()} },
		Open:    func(sealed []byte) ([]byte, error) { return sealed, nil },
		Find: func(context.Context, string, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("203.0.113.1")}, nil
		},
		Apply: func(_ context.Context, objects []api.Object, opts verbs.ApplyOptions) (api.ApplyResult, error) {
			var result api.ApplyResult
			var names []string
			for _, object := range objects {
				spec, err := api.DecodeSpec[api.DeploymentSpec](object)
				if err != nil {
					return result, err
				}
				names = append(names, object.Name+"="+spec.Image)
				result.Objects = append(result.Objects, api.ObjectResult{Ref: object.Ref(), Action: api.ActionCreated,
					Revision: 1})
			}
			slices.Sort(names)
			w.applied, w.opts = strings.Join(names, " "), opts
			return result, w.refuse
		},
	})
	return w
}

// term commits the applies.
type term struct{ records.Committer }

// sealed is a secret as it is stored.
func sealed(secret string) string {
	if secret == "" {
		return ""
	}
	return api.SealedPrefix + "mac:" + base64.StdEncoding.EncodeToString([]byte(secret))
}

func syncOf(spec api.SyncSpec) api.Object {
	spec.Password, spec.SSHKey = sealed(spec.Password), sealed(spec.SSHKey)
	if !spec.Trusted && spec.Scopes == nil {
		spec.Scopes = []string{"shop"}
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err)
	}
	return api.Object{Kind: api.KindSync, Scope: api.Unscoped, Name: "shop", Spec: raw,
		Metadata: api.Metadata{UID: "uid-1"}}
}

var _ = records.SealedToken // what sealed imitates

// poll polls a source and applies it. It returns the revision, or the reason and the message of the fault.
func (w *world) poll(spec api.SyncSpec) (revision, fault string) {
	w.Helper()
	object := syncOf(spec)
	revision, _, err := w.syncer.Poll(w.Context(), object)
	if err != nil {
		var known *source.Error
		if !errors.As(err, &known) {
			w.Fatalf("an error without a reason: %v", err)
		}
		return "", known.Reason + ": " + known.Error()
	}
	applied := w.syncer.Apply(w.Context(), term{}, object)
	if applied.Fault != nil {
		return "", applied.Fault.Reason + ": " + applied.Fault.Error()
	}
	if applied.Revision != revision {
		w.Errorf("polled %s, applied %s", revision, applied.Revision)
	}
	return revision, ""
}

// want polls and compares what is applied.
func (w *world) want(when string, spec api.SyncSpec, applied string) (revision string) {
	w.Helper()
	w.applied = ""
	revision, fault := w.poll(spec)
	if fault != "" || w.applied != applied {
		w.Errorf("%s: applied %q, want %q; %s", when, w.applied, applied, fault)
	}
	return revision
}

// wantFault polls and compares the fault; nothing may be applied.
func (w *world) wantFault(when string, spec api.SyncSpec, reason string, says ...string) {
	w.Helper()
	w.applied = ""
	_, fault := w.poll(spec)
	if !strings.HasPrefix(fault, reason+": ") || !strings.Contains(fault, "\nNext: ") ||
		w.applied != "" && w.refuse == nil {
		w.Errorf("%s: %q, want %s; applied %q", when, fault, reason, w.applied)
	}
	for _, text := range says {
		if !strings.Contains(fault, text) {
			w.Errorf("%s: %q does not say %q", when, fault, text)
		}
	}
	if strings.Contains(fault, w.syncer.Folder) || strings.Contains(fault, "s3cret") {
		w.Errorf("%s: %q shows what it must not", when, fault)
	}
}

func manifestOf(name, image string) string {
	return "deployment \"shop\" \"" + name + "\" {\n  image = \"" + image + "\"\n}\n"
}

// lay writes files below a folder.
func lay(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// git runs git in a folder and returns what it prints.
func git(t *testing.T, folder string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git",
		append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.org"}, args...)...)
	command.Dir = folder
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// origin is a bare repository and a clone of it to work in.
type origin struct {
	*testing.T
	bare, work string
}

func newOrigin(t *testing.T) *origin {
	o := &origin{T: t, bare: filepath.Join(t.TempDir(), "shop.git"), work: filepath.Join(t.TempDir(), "work")}
	git(t, t.TempDir(), "init", "-q", "--bare", "-b", "main", o.bare)
	git(t, t.TempDir(), "init", "-q", "-b", "main", o.work)
	git(t, o.work, "remote", "add", "origin", o.bare)
	return o
}

// commit writes files, commits and pushes them, and returns the id of the commit.
func (o *origin) commit(files map[string]string, args ...string) string {
	o.Helper()
	lay(o.T, o.work, files)
	git(o.T, o.work, "add", "-A")
	git(o.T, o.work, append(slices.Clone(args), "commit", "-q", "--allow-empty", "-m", "change")...)
	git(o.T, o.work, "push", "-q", "--force", "origin", "HEAD")
	return git(o.T, o.work, "rev-parse", "HEAD")
}
