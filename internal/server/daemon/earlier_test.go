package daemon

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
)

// record writes a root as testdata/roots/NAME.tar.gz. Copy this file into the tree of the version that is to be
// recorded, and run
//
//	go test ./internal/server/daemon -run TestARootOfAnEarlierVersion -record NAME
//
// A root that exists is never written again: that version wrote it.
var record = flag.String("record", "", "name of the version whose root is recorded")

const rootsFolder = "testdata/roots"

// The parts of a recorded root besides the server's own files: the containers that ran when it was stopped, and the
// API's answers.
const (
	recordedContainers = "recorded-containers.json"
	recordedObjects    = "recorded-objects.json"
)

// recorded holds the answers of a version's own server just before it was stopped.
type recorded struct {
	Objects  []api.Object
	Releases map[string]int // by kind/scope/name
	Pods     []string
}

// TestARootOfAnEarlierVersion starts this version with the roots of earlier ones: all objects exist, running containers
// are adopted unchanged, nothing rolls out, and new writes have their effect.
func TestARootOfAnEarlierVersion(t *testing.T) {
	if *record != "" {
		recordRoot(t, filepath.Join(rootsFolder, *record+".tar.gz"))
		return
	}
	archives, err := filepath.Glob(filepath.Join(rootsFolder, "*.tar.gz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no roots: %v", err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), func(t *testing.T) { startsEarlier(t, archive) })
	}
}

func startsEarlier(t *testing.T, archive string) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	m.engine.AddImage("web:2")
	unpack(t, archive, m.root)
	var before recorded
	read(t, filepath.Join(m.root, recordedObjects), &before)
	var ran []runtime.ContainerSpec
	read(t, filepath.Join(m.root, recordedContainers), &ran)
	engine := m.engine.Client(clusterOf(t, m), "n1")
	for _, spec := range ran {
		made, err := engine.Create(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Start(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
	}
	containers, calls := m.engine.Containers(), m.engine.Mutations()

	r := m.startWith(func(o *Options) { o.Store, o.MinFree = nil, -1 }).ready()
	for _, object := range before.Objects {
		ref := object.Ref()
		now, err := r.client.Object(t.Context(), ref)
		if err != nil || !bytes.Equal(compact(t, now.Spec), compact(t, object.Spec)) ||
			now.Metadata.UID != object.Metadata.UID || now.Metadata.Generation != object.Metadata.Generation {
			t.Errorf("%s: %v, is %+v, was %+v", ref, err, now, object)
		}
		if ref.Kind.HasSlots() {
			r.converged(ref, now.Metadata.Revision)
		}
	}
	if is := describeRoot(t, r); !slices.Equal(is.Pods, before.Pods) {
		t.Errorf("the pods are %v, were %v", is.Pods, before.Pods)
	} else if len(is.Releases) != len(before.Releases) || is.Releases[web.String()] != before.Releases[web.String()] {
		t.Errorf("the releases are %v, were %v: something rolled", is.Releases, before.Releases)
	}
	if now := m.engine.Mutations(); now != calls {
		t.Errorf("%d calls changed containers, of all calls: %v", now-calls, m.engine.Calls())
	}
	r.converged(web, r.apply(manifestOf(web, secondVersion(5))))
	for _, container := range containers {
		if now, alive := m.engine.ByID(container.ID); !alive || now.State != runtime.StateRunning {
			t.Errorf("%s is %s after pods were added", container.Name, now.State)
		}
	}
}

// describeRoot returns the API's answers about all objects, releases and pods.
func describeRoot(t *testing.T, r *running) (out recorded) {
	t.Helper()
	out.Releases = map[string]int{}
	for _, kind := range []api.Kind{api.KindDeployment, api.KindStatefulSet, api.KindCronJob,
		api.KindIngress, api.KindNetwork} {
		objects, err := r.client.Objects(t.Context(), kind, client.ObjectFilter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects.Items {
			out.Objects = append(out.Objects, object)
			if !kind.HasSlots() {
				continue
			}
			releases, err := r.client.Releases(t.Context(), client.Target{Kind: kind, Scope: object.Scope, Name: object.Name})
			if err != nil {
				t.Fatal(err)
			}
			out.Releases[object.Ref().String()] = len(releases.Items)
			for _, pod := range r.live(object.Ref()) {
				out.Pods = append(out.Pods, pod.Name)
			}
		}
	}
	slices.Sort(out.Pods)
	return out
}

// recordRoot runs this version with objects of many kinds, and packs the root.
func recordRoot(t *testing.T, archive string) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	m.engine.AddImage("web:2")
	r := m.startWith(func(o *Options) { o.Store, o.MinFree = nil, -1 }).ready()
	storeObjects(t, r)
	said := describeRoot(t, r)
	var ran []runtime.ContainerSpec
	for _, container := range m.engine.Containers() {
		ran = append(ran, m.engine.Spec(container.Name))
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(m.root, recordedObjects), said)
	write(t, filepath.Join(m.root, recordedContainers), ran)
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		t.Fatal(err)
	}
	pack(t, m.root, archive)
}

// storeObjects makes a server store and run objects of many kinds.
func storeObjects(t *testing.T, r *running) {
	t.Helper()
	db := api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}
	if _, err := r.client.SetConfig(t.Context(), "prod", "web",
		api.ConfigRequest{Set: map[string]string{"GREETING": "hello"}}); err != nil {
		t.Fatal(err)
	}
	r.converged(web, r.apply(manifestOf(web, replicas(2))))
	r.converged(web, r.apply(manifestOf(web, secondVersion(2))))
	r.converged(db, r.apply(manifestOf(db, replicas(2))))
	for ref, spec := range map[api.Ref]string{
		{Kind: api.KindCronJob, Scope: "prod", Name: "nightly"}: `{"schedule":"0 3 * * *","suspend":true,"image":"web:1"}`,
		{Kind: api.KindIngress, Scope: "prod", Name: "web"}:     `{"host":"web.example","port":8080}`,
		api.NetworkRef: `{}`,
	} {
		r.apply(api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: []byte(spec)})
	}
}

// secondVersion returns the edit that makes the deployment's second release, with a number of replicas.
func secondVersion(n int) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.Replicas, s.Image = &n, "web:2" }
}

func compact(t *testing.T, raw []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func write(t *testing.T, path string, value any) {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string, value any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// pack writes the files and folders of a root, without its sockets.
func pack(t *testing.T, root, archive string) {
	t.Helper()
	file, err := os.OpenFile(archive, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	squeezed, _ := gzip.NewWriterLevel(file, gzip.BestCompression)
	out := tar.NewWriter(squeezed)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() && !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		header, err := tar.FileInfoHeader(info, "")
		if err != nil {
			return err
		}
		header.Name, _ = filepath.Rel(root, path)
		header.Uname, header.Gname, header.Uid, header.Gid = "", "", 0, 0
		if err := out.WriteHeader(header); err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil {
			_, err = out.Write(content)
		}
		return err
	})
	if err := errors.Join(err, out.Close(), squeezed.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// unpack makes the root that an archive holds.
func unpack(t *testing.T, archive, root string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	squeezed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(squeezed); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, filepath.FromSlash(header.Name))
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, header.FileInfo().Mode().Perm())
		} else {
			var content []byte
			if content, err = io.ReadAll(in); err == nil {
				err = os.WriteFile(path, content, header.FileInfo().Mode().Perm())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
