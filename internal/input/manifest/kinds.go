package manifest

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/suggest"
)

// bodies decode the bodies that aren't simply the fields of the kind's spec.
var bodies = map[api.Kind]func(d *decoder, n *node) map[string]any{
	api.KindCronJob: (*decoder).cronJob,
	api.KindAsset:   (*decoder).asset,
}

// HasField reports whether the spec of a kind has a field, as JSON names it.
func HasField(kind api.Kind, field string) bool {
	t := kind.Info().Spec
	return t != nil && slices.ContainsFunc(properties(t), func(p property) bool { return p.name == field })
}

// declarable reports whether a manifest may declare objects of a kind.
func declarable(kind api.Kind) bool { return kind.Info().Spec != nil }

func kindNames() []string {
	var names []string
	for _, kind := range api.KindsThat(declarable) {
		names = append(names, string(kind))
	}
	return names
}

// closestKind returns the next step for a word that isn't a kind.
func closestKind(word string) string {
	if next := suggest.ForeignKind(word); next != "" {
		return next
	}
	if next := suggest.Question(word, kindNames()); next != "" {
		return next
	}
	return "the kinds of today: " + strings.Join(kindNames(), ", ")
}

// scopeless reports whether objects of a kind need no scope: without one they are in api.Unscoped.
func scopeless(kind api.Kind) bool { return kind.Info().Scope != api.ScopeRequired }

// cronJob accepts the fields of a cron job's job beside the schedule, or in an object `job`, as plugins write it.
func (d *decoder) cronJob(n *node) map[string]any {
	nested := n.find("job")
	if d.native || nested == nil || nested.value.kind != objectNode {
		return d.structure(n, api.KindCronJob.Info().Spec, "")
	}
	flat := *n
	flat.fields = nil
	for _, f := range n.fields {
		if f.key != "job" {
			flat.fields = append(flat.fields, f)
		}
	}
	flat.fields = append(flat.fields, nested.value.fields...)
	return d.structure(&flat, api.KindCronJob.Info().Spec, "")
}

// objectsOf returns the objects that a draft expands to: an app becomes a deployment and an ingress, a lab with count
// the labs of its class, any other draft stays as it is.
func objectsOf(d *draft, f *faults) []*draft {
	switch {
	case d.object.Kind == api.KindApp:
		return expandApp(d)
	case d.object.Kind == api.KindLab && d.spec["count"] != nil && !d.broken:
		return expandClass(d, f)
	}
	return []*draft{d}
}

func expandApp(d *draft) []*draft {
	deployment, ingress := *d, *d
	deployment.object.Kind, ingress.object.Kind = api.KindDeployment, api.KindIngress
	deployment.spec, ingress.spec = map[string]any{}, map[string]any{}
	for name, value := range d.spec {
		if HasField(api.KindIngress, name) {
			ingress.spec[name] = value
		} else {
			deployment.spec[name] = value
		}
	}
	return []*draft{&deployment, &ingress}
}
