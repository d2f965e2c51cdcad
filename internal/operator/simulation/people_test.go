//go:build simulate

package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/operator/identity"
)

// applications are those that people declare.
var applications = []api.Ref{
	{Kind: api.KindApplicationInstance, Scope: "prod", Name: "web"},
	{Kind: api.KindApplicationInstance, Scope: "prod", Name: "shop"},
	{Kind: api.KindApplicationInstance, Scope: "test", Name: "web"},
}

// versions that people declare. One ending in 8 can't be fetched, one ending in 9 can't be installed.
var versions = []string{"1.0.0", "1.1.0", "1.2.0", "2.0.0", "2.0.8", "2.1.9"}

func pick[T any](random *rand.Rand, all []T) T { return all[random.IntN(len(all))] }

// declared holds the fields of an application that worlds vary.
type declared struct {
	Suspend bool `json:"suspend"`
	Chart   struct {
		Version string `json:"version"`
	} `json:"chart"`
	Values struct {
		Inline struct {
			Stamp int64 `json:"stamp"`
		} `json:"inline"`
	} `json:"values"`
}

// applies applies an object as `tend apply` does.
func (w *World) applies(ref api.Ref, annotations map[string]string, spec string) {
	object := api.Object{
		Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: json.RawMessage(spec),
		Metadata: api.Metadata{Annotations: annotations},
	}
	_, err := w.plane.Verbs().Apply(w.ctx, []api.Object{object}, verbs.ApplyOptions{
		FieldManager: verbs.FieldManager{Actor: "ada"},
	})
	if err != nil {
		w.storyf("apply %s: %v", ref, err)
	}
}

func applyApplication(w *World, random *rand.Rand) {
	ref, on := pick(random, applications), ""
	if ref == dependent && random.IntN(2) == 0 {
		on = "web"
	}
	w.declare(ref, pick(random, versions), on)
}

// declare declares an application with a version, a stamp that no other spec has, and a dependency, if any.
func (w *World) declare(ref api.Ref, version, on string) {
	w.stamps++
	w.storyf("%s is to be of %s, stamp %d, after %q", ref, version, w.stamps, on)
	more := ""
	if w.waits(w.stamps, nil); on != "" {
		more = fmt.Sprintf(`,"dependsOn":[{"name":%q}]`, on)
		w.waits(w.stamps, []string{on})
	}
	w.applies(ref, map[string]string{
		identity.CapabilityPrefix + "runcommand": "job", identity.CapabilityPrefix + "upgrade": "helm",
		identity.CapabilityPrefix + "runbook": "workflow",
		identity.CapabilityPrefix + "backup":  "velero,volsync", identity.CapabilityPrefix + "restore": "velero,volsync",
	}, fmt.Sprintf(`{"cluster":%q,"appRef":{"catalogId":"web"},"suspend":false,
		"chart":{"sourceType":"oci","url":"oci://registry.example.org/charts","name":"web","version":%q},
		"release":{"name":%q},"values":{"source":"inline","inline":{"stamp":%d}}%s}`,
		clusterName, version, ref.Name, w.stamps, more))
}

// suspendApplication changes nothing but whether an application is suspended.
func suspendApplication(w *World, random *rand.Rand) {
	ref := pick(random, applications)
	object, ok := w.plane.object(ref)
	if !ok {
		return
	}
	var spec map[string]any
	if json.Unmarshal(object.Spec, &spec) != nil {
		return
	}
	is, _ := spec["suspend"].(bool)
	spec["suspend"] = !is
	next, err := json.Marshal(spec)
	if err != nil {
		return
	}
	w.storyf("%s suspended: %t", ref, !is)
	w.applies(ref, object.Metadata.Annotations, string(next))
}

func deleteApplication(w *World, random *rand.Rand) { w.deletes(pick(random, applications)) }

func (w *World) deletes(ref api.Ref) {
	w.storyf("%s is deleted", ref)
	if _, err := w.plane.Verbs().Delete(w.ctx, verbs.TargetOf(ref), "ada"); err != nil {
		w.storyf("delete %s: %v", ref, err)
	}
}

func runCommand(w *World, random *rand.Rand) {
	argument := "work"
	if random.IntN(3) == 0 {
		argument = failing
	}
	w.operation(pick(random, applications), "RunCommand", "job",
		fmt.Sprintf(`{"image":"busybox:1","args":[%q],"backoffLimit":0}`, argument))
}

func upgradeByOperation(w *World, random *rand.Rand) {
	parameters := fmt.Sprintf(`{"targetVersion":%q}`, pick(random, versions))
	w.operation(pick(random, applications), "Upgrade", "helm", parameters)
}

// operation declares an operation with a name of its own.
func (w *World) operation(target api.Ref, kind, engine, parameters string) {
	w.names++
	ref := api.Ref{Kind: api.KindOperation, Scope: target.Scope, Name: fmt.Sprintf("op%d", w.names)}
	w.storyf("%s: %s of %s with %s", ref, kind, target, parameters)
	w.applies(ref, nil, fmt.Sprintf(`{"cluster":%q,"targetRef":{"name":%q},"type":%q,"engine":%q,"parameters":%s}`,
		clusterName, target.Name, kind, engine, parameters))
}

func deleteOperation(w *World, random *rand.Rand) {
	if all := w.plane.objects(api.KindOperation); len(all) > 0 {
		w.deletes(pick(random, all).Ref())
	}
}
