//go:build simulate

package simulation

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tend.dev/tend/internal/operator/kubetest"
	"tend.dev/tend/internal/operator/simulation/cluster"
)

// play holds the reports that Flux is about to make of an object.
type play struct {
	// generation is that of the object, key what else Flux acts on.
	generation int64
	key        string
	// script holds the reports to come, from and to what a release was and becomes. target is the recorded version that
	// stands for to.
	script   []kubetest.Said
	from, to chart
	target   string
	// first is the number of the recorded revision before the first change, base that of the release.
	first, base, top int64
	// waits: the wait for the source is reported. tried: an action was begun. failed: the last one failed.
	waits, tried, failed bool
	// awaited is the generation and the dependency of the last report that the release waits for it.
	awaited string
}

// topOf returns the number of the newest revision that a script begins with.
func topOf(script []kubetest.Said) (top int64) {
	if len(script[0].History) > 0 {
		_, _ = fmt.Sscanf(script[0].History[0], "v%d", &top)
	}
	return top
}

// report writes the next report of a script, if there is one.
func (f *flux) report(live *unstructured.Unstructured, p *play) bool {
	if len(p.script) == 0 {
		return false
	}
	said := p.script[0]
	status, _, _ := unstructured.NestedMap(live.Object, "status")
	if status == nil {
		status = map[string]any{"observedGeneration": int64(-1)}
	}
	if said.Lag == 0 {
		status["observedGeneration"] = max(p.generation, 1)
	}
	status["conditions"] = f.conditions(said, p, status)
	if said.Kind == "OCIRepository" {
		fetched(said, p, status)
	} else {
		f.released(live, said, p, status)
	}
	live.Object["status"] = status
	if _, err := f.w.cluster.Update(live, cluster.Write{By: "flux", Status: true}); err != nil {
		return true // changed since it was read
	}
	p.script = p.script[1:]
	return true
}

func (f *flux) conditions(said kubetest.Said, p *play, status map[string]any) (list []any) {
	for _, c := range said.Conditions {
		generation := max(p.generation, 1)
		if c.Lag > 0 {
			generation = max(1, generation-c.Lag)
		}
		message := c.Message
		if p.target != "" {
			message = strings.ReplaceAll(message, p.target, p.to.version)
		}
		list = append(list, map[string]any{
			"type": c.Type, "status": c.Status, "reason": c.Reason, "message": message, "observedGeneration": generation,
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		})
	}
	return list
}

// fetched sets the artifact of a source that has fetched its chart.
func fetched(said kubetest.Said, p *play, status map[string]any) {
	for _, c := range said.Conditions {
		if c.Type == "ArtifactInStorage" && c.Lag == 0 {
			digest := digestOf(p.to.version)
			status["artifact"] = map[string]any{
				"revision": p.to.version + "@" + digest, "digest": digest, "path": "p", "url": "http://source/p",
				"lastUpdateTime": time.Now().UTC().Format(time.RFC3339),
			}
		}
	}
}

// released sets what a report says of a release, and does to Helm what it reports.
func (f *flux) released(live *unstructured.Unstructured, said kubetest.Said, p *play, status map[string]any) {
	for _, c := range said.Conditions {
		if c.Type == "Released" && c.Status == "True" && c.Lag == 0 && said.Attempted == p.target {
			f.deploy(live.GetNamespace(), live.GetName(), p.to)
		}
	}
	if said.Attempted != "" && said.Attempted == p.target {
		digest := digestOf(p.to.version)
		status["lastAttemptedRevision"] = p.to.version + "+" + digest[len("sha256:"):][:12]
		status["lastAttemptedRevisionDigest"] = digest
		status["lastAttemptedConfigDigest"] = config(p.to)
	}
	if len(said.History) == 0 {
		return
	}
	var history []any
	for _, entry := range said.History {
		var revision int64
		var recorded, state string
		_, _ = fmt.Sscanf(entry, "v%d %s %s", &revision, &recorded, &state)
		of := p.from
		if recorded == p.target {
			of = p.to
		}
		revision += p.base - p.first
		p.top = max(p.top, revision)
		history = append(history, map[string]any{
			"name": live.GetName(), "namespace": live.GetNamespace(), "version": revision, "status": state,
			"chartVersion": of.version,
			"configDigest": config(of), "digest": digestOf(entry), "chartName": "web",
		})
	}
	status["history"] = history
}

func config(c chart) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Append(nil, c.stamp))) }
