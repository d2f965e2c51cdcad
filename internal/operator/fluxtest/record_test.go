//go:build flux

package fluxtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/internal/operator/kubetest"
)

var recording = flag.Bool("record", false, "write what Flux says to the recording that the played Flux is held to")

// pages are the recorded steps of all tests.
type pages struct {
	mu    sync.Mutex
	steps []kubetest.Step
}

var written pages

var recordingPath = filepath.Join("..", "kubetest", kubetest.RecordingFile)

// write writes the recording if requested. A run of some tests only replaces their steps.
func (p *pages) write() error {
	if !*recording {
		return nil
	}
	all := p.steps
	old, err := readRecording()
	if err != nil {
		return err
	}
	for _, step := range old {
		if !slices.ContainsFunc(all, func(s kubetest.Step) bool { return s.Name == step.Name }) {
			all = append(all, step)
		}
	}
	slices.SortStableFunc(all, func(a, b kubetest.Step) int { return cmp.Compare(a.Name, b.Name) })
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(recordingPath, append(text, '\n'), 0o644)
}

func readRecording() (steps []kubetest.Step, err error) {
	text, err := os.ReadFile(recordingPath)
	if err != nil {
		return nil, err
	}
	return steps, json.Unmarshal(text, &steps)
}

// recorder collects Flux's reports in a world, in order.
type recorder struct {
	w    *world
	mu   sync.Mutex
	said []kubetest.Said
	// latest is the last status of each kind: a story has one object of a kind.
	latest map[string]kubetest.Said
}

var kinds = []schema.GroupVersionKind{helmRelease, ociRepository, helmRepository, helmChart}

// record watches all kinds of Flux in the world's namespace until the test ends.
func record(w *world) *recorder {
	r := &recorder{w: w, latest: map[string]kubetest.Said{}}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		watching, err := w.user.Watch(context.Background(), list, client.InNamespace(w.namespace))
		if err != nil {
			w.Fatal(err)
		}
		w.Cleanup(watching.Stop)
		go func() {
			for event := range watching.ResultChan() {
				if live, ok := event.Object.(*unstructured.Unstructured); ok && event.Type == watch.Modified {
					r.add(live)
				}
			}
		}()
	}
	return r
}

// add records a status that differs from the object's last one.
func (r *recorder) add(live *unstructured.Unstructured) {
	said := plain(kubetest.SaidOf(live), r.w.namespace)
	if len(said.Conditions) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !reflect.DeepEqual(r.latest[said.Kind], said) {
		r.latest[said.Kind] = said
		r.said = append(r.said, said)
	}
}

// caughtUp waits until Flux rests, and the recorder has seen the objects' final state.
func (r *recorder) caughtUp() {
	r.w.Helper()
	kubetest.Eventually(r.w, "the recorder", func(ctx context.Context) error {
		for _, kind := range kinds {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind)
			if err := r.w.user.List(ctx, list, client.InNamespace(r.w.namespace)); err != nil {
				return err
			}
			r.mu.Lock()
			latest := r.latest[kind.Kind]
			r.mu.Unlock()
			for _, live := range list.Items {
				if err := rests(&live); err != nil {
					return err
				}
				if said := plain(kubetest.SaidOf(&live), r.w.namespace); len(said.Conditions) > 0 &&
					!reflect.DeepEqual(said, latest) {
					return fmt.Errorf("%s says %+v, the recorder has %+v", kind.Kind, said, latest)
				}
			}
		}
		return nil
	})
}

// rests returns an error while Flux works on an object. A failed object rests, although Flux retries it.
func rests(live *unstructured.Unstructured) error {
	if suspended, _, _ := unstructured.NestedBool(live.Object, "spec", "suspend"); suspended {
		return nil
	}
	said, is := kubetest.SaidOf(live), map[string]string{}
	for _, c := range said.Conditions {
		is[c.Type] = c.Status
	}
	if is["Ready"] == "False" || is["Ready"] == "True" && is["Reconciling"] != "True" && said.Lag == 0 {
		return nil
	}
	return fmt.Errorf("Flux is at work on %s %s: %+v", live.GetKind(), live.GetName(), said)
}

// step ends a step of the story, to which all of Flux's reports since the previous step belong. The last status of each
// kind must equal the recorded one.
func (w *world) step(name string) {
	w.Helper()
	r := w.recorder
	r.caughtUp()
	step := kubetest.Step{Name: w.source + "/" + name}
	if !*recording {
		w.sameAs(step.Name)
	}
	r.mu.Lock()
	step.Said, r.said = r.said, nil
	r.mu.Unlock()
	written.mu.Lock()
	written.steps = append(written.steps, step)
	written.mu.Unlock()
}

// sameAs waits until Flux says what was recorded at the end of a step: it may be between two of its conditions.
func (w *world) sameAs(name string) {
	w.Helper()
	old, err := readRecording()
	if err != nil {
		w.Fatal(err)
	}
	at := slices.IndexFunc(old, func(s kubetest.Step) bool { return s.Name == name })
	if at < 0 {
		w.Errorf("the step %s is not recorded: make record-flux", name)
		return
	}
	what := fmt.Sprintf("at the end of %s, Flux says (+) another thing than was recorded (-); if it is right, make record-flux", name)
	kubetest.Within(w, patience, what, func(context.Context) error {
		w.recorder.mu.Lock()
		defer w.recorder.mu.Unlock()
		if diff := gocmp.Diff(last(old[at]), last(kubetest.Step{Said: w.recorder.said})); diff != "" {
			return errors.New("\n" + diff)
		}
		return nil
	})
}

// last returns the last conditions of each kind, without messages.
func last(step kubetest.Step) map[string][]string {
	ends := map[string][]string{}
	for _, said := range step.Said {
		var conditions []string
		for _, c := range said.Conditions {
			conditions = append(conditions, c.String())
		}
		ends[said.Kind] = conditions
	}
	return ends
}

var (
	digests   = regexp.MustCompile(`sha256:[0-9a-f]{64}|@[0-9a-f]{64}|\b[0-9a-f]{64}\b`)
	buildTags = regexp.MustCompile(`(\d)\+[0-9a-f]{12}\b`)
	addresses = regexp.MustCompile(`127\.\d+\.\d+\.\d+:\d+`)
)

// plain removes the parts of a status that differ from run to run.
func plain(said kubetest.Said, namespace string) kubetest.Said {
	clean := func(text string) string {
		text = strings.ReplaceAll(text, namespace, "NAMESPACE")
		text = addresses.ReplaceAllString(digests.ReplaceAllString(text, "DIGEST"), "ADDRESS")
		return buildTags.ReplaceAllString(text, "$1+DIGEST")
	}
	said.Attempted = clean(said.Attempted)
	for i := range said.Conditions {
		said.Conditions[i].Message = clean(said.Conditions[i].Message)
	}
	for i := range said.History {
		said.History[i] = clean(said.History[i])
	}
	return said
}
