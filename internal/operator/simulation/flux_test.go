//go:build simulate

package simulation

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"tend.dev/tend/internal/operator/kubetest"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// fluxFinalizer is Flux's finalizer of a HelmRelease.
const fluxFinalizer = "finalizers.fluxcd.io"

// flux plays Flux's controllers. It reports nothing but what the real ones were recorded to report, in their order.
type flux struct {
	w     *World
	steps map[string][]kubetest.Said
	plays map[types.UID]*play

	mu sync.Mutex
	// helm holds what Helm has, by namespace and name. deployed holds what it ever deployed.
	helm     map[string]chart
	deployed map[chart]bool
}

// chart identifies the content of a release: a version and the stamp of its values.
type chart struct {
	version string
	stamp   int64
}

// A version's last digit decides what becomes of it.
func (c chart) fails() bool { return strings.HasSuffix(c.version, ".9") }

func isMissing(version string) bool { return strings.HasSuffix(version, ".8") }

func newFlux(w *World) *flux {
	f := &flux{
		w: w, steps: map[string][]kubetest.Said{}, plays: map[types.UID]*play{}, helm: map[string]chart{},
		deployed: map[chart]bool{},
	}
	for _, step := range kubetest.Recording(w) {
		f.steps[step.Name] = step.Said
	}
	return f
}

// said returns what a kind reported in a step, from the first report with a condition's reason on; empty takes all.
func (f *flux) said(step, kind, from string) (all []kubetest.Said) {
	for _, said := range f.steps[step] {
		if said.Kind != kind {
			continue
		}
		for _, c := range said.Conditions {
			if from != "" && strings.HasPrefix(c.Message, from) {
				from = ""
			}
		}
		if from == "" {
			all = append(all, said)
		}
	}
	if len(all) == 0 {
		f.w.fail("nothing was recorded of %s in %s", kind, step)
	}
	return all
}

// has returns what Helm has of a release.
func (f *flux) has(namespace, name string) (chart, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.helm[namespace+"/"+name]
	return c, ok
}

// ever reports whether Helm ever deployed a chart.
func (f *flux) ever(c chart) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deployed[c]
}

// stamped reports whether Helm ever deployed a spec.
func (f *flux) stamped(stamp int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.deployed {
		if c.stamp == stamp {
			return true
		}
	}
	return false
}

func (f *flux) deploy(namespace, name string, c chart) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.helm[namespace+"/"+name], f.deployed[c] = c, true
}

func (f *flux) uninstall(namespace, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.helm, namespace+"/"+name)
}

// step lets each of Flux's objects advance by one report.
func (f *flux) step() (acted bool) {
	for _, source := range f.w.cluster.List(cluster.OCIRepository) {
		acted = f.source(source) || acted
	}
	for _, release := range f.w.cluster.List(cluster.HelmRelease) {
		acted = f.release(release) || acted
	}
	return acted
}

func tagOf(source *unstructured.Unstructured) string { return text(source, "spec", "ref", "tag") }

func digestOf(tag string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(tag))) }

// source advances a source.
func (f *flux) source(live *unstructured.Unstructured) bool {
	p := f.plays[live.GetUID()]
	if live.GetDeletionTimestamp() != nil {
		return false
	}
	if p == nil {
		p = &play{}
		f.plays[live.GetUID()] = p
	}
	if p.generation != live.GetGeneration() && len(p.script) == 0 {
		step := "oci/upgrade"
		switch {
		case isMissing(tagOf(live)):
			step = "oci/chart is missing"
		case p.generation == 0:
			step = "oci/install"
		}
		p.generation, p.script, p.to = live.GetGeneration(), f.said(step, "OCIRepository", ""), chart{version: tagOf(live)}
	}
	return f.report(live, p)
}

// release advances a HelmRelease.
func (f *flux) release(live *unstructured.Unstructured) bool {
	p := f.plays[live.GetUID()]
	if p == nil {
		p = &play{}
		f.plays[live.GetUID()] = p
	}
	suspended := text(live, "spec", "suspend") == "true"
	if live.GetDeletionTimestamp() != nil {
		return f.ends(live, p, suspended)
	}
	if len(live.GetFinalizers()) == 0 {
		live.SetFinalizers([]string{fluxFinalizer})
		_, err := f.w.cluster.Update(live, cluster.Write{By: "helm-controller"})
		return err == nil
	}
	if len(p.script) == 0 {
		if suspended {
			return false
		}
		if on := f.w.awaits(live); on != "" && p.generation != live.GetGeneration() {
			return f.await(live, p, on)
		}
		f.choose(live, p)
	}
	return f.report(live, p)
}

// ends uninstalls a release whose HelmRelease is being deleted. Flux leaves the release of a suspended one.
func (f *flux) ends(live *unstructured.Unstructured, p *play, suspended bool) bool {
	if len(live.GetFinalizers()) == 0 {
		return false
	}
	if _, has := f.has(live.GetNamespace(), live.GetName()); has && !suspended {
		f.uninstall(live.GetNamespace(), live.GetName())
		all := f.said("oci/HelmRelease deleted by hand", "HelmRelease", "Helm uninstall succeeded")
		p.script = all[:1]
		return f.report(live, p)
	}
	live.SetFinalizers(nil)
	_, err := f.w.cluster.Update(live, cluster.Write{By: "helm-controller"})
	return err == nil
}

// choose chooses what Flux does about a release, if anything.
func (f *flux) choose(live *unstructured.Unstructured, p *play) {
	source := f.w.cluster.Get(cluster.OCIRepository, live.GetNamespace(), text(live, "spec", "chartRef", "name"))
	tag, artifact := tagOf(source), text(source, "status", "artifact", "revision")
	if artifact == "" || !strings.HasPrefix(artifact, tag+"@") ||
		number(source, "status", "observedGeneration") != source.GetGeneration() {
		if p.generation == 0 && !p.waits {
			p.waits = true
			p.script = f.said("oci/install", "HelmRelease", "")[:2] // it waits for its source
		}
		return
	}
	to := chart{tag, number(live, "spec", "values", "stamp")}
	forced := live.GetAnnotations()["reconcile.fluxcd.io/forceAt"]
	key := fmt.Sprint(live.GetGeneration(), to, forced)
	if key == p.key {
		return
	}
	has, installed := f.has(live.GetNamespace(), live.GetName())
	step, from := "oci/upgrade", "Running 'upgrade'"
	switch again := live.GetGeneration() != p.generation; {
	case !installed && p.tried && !to.fails():
		step = "oci/install after a failure"
	case !installed && to.fails():
		step, from = "oci/install fails", "Running 'install'"
	case !installed:
		step, from = "oci/install", "Running 'install'"
	case to.fails():
		step = "oci/upgrade fails"
	case has == to && p.generation != 0 && !p.failed:
		step, from = "helm/upgrade", "Helm upgrade succeeded" // nothing changes
	case p.failed:
		step = "oci/upgrade after a failure"
	case again:
		step = "helm/upgrade"
	}
	script := f.said(step, "HelmRelease", from)
	if step == "helm/upgrade" && from == "Helm upgrade succeeded" {
		script = script[len(script)-1:]
	}
	p.key, p.generation, p.from, p.to, p.script, p.tried = key, live.GetGeneration(), has, to, script, true
	p.failed, p.first, p.target = to.fails(), topOf(script), script[len(script)-1].Attempted
	p.base = p.top
}
