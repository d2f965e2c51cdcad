package manifest

import (
	"reflect"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// specTypes are the kinds a manifest may declare in this version. Adding a kind adds a line here.
var specTypes = map[api.Kind]reflect.Type{
	api.KindDeployment:  reflect.TypeFor[api.DeploymentSpec](),
	api.KindApp:         reflect.TypeFor[api.AppSpec](),
	api.KindStatefulSet: reflect.TypeFor[api.StatefulSetSpec](),
	api.KindJob:         reflect.TypeFor[api.JobSpec](),
	api.KindCronJob:     reflect.TypeFor[api.CronJobSpec](),
	api.KindIngress:     reflect.TypeFor[api.IngressSpec](),
	api.KindAsset:       reflect.TypeFor[api.AssetSpec](),
	api.KindRegistry:    reflect.TypeFor[api.RegistrySpec](),
}

// bodies decode the bodies that aren't simply the fields of the struct in specTypes.
var bodies = map[api.Kind]func(d *decoder, n *node) map[string]any{
	api.KindCronJob: (*decoder).cronJob,
	api.KindAsset:   (*decoder).asset,
}

// HasField reports whether the spec of a kind has a field, as JSON names it.
func HasField(kind api.Kind, field string) bool {
	t := specTypes[kind]
	return t != nil && slices.ContainsFunc(properties(t), func(p property) bool { return p.name == field })
}

func knownKind(word string) api.Kind {
	for _, kind := range api.Kinds {
		if word == string(kind) {
			return kind
		}
	}
	return ""
}

// supportedKinds returns those of specTypes, in the order listings show them.
func supportedKinds() []api.Kind {
	return slices.DeleteFunc(slices.Clone(api.Kinds), func(kind api.Kind) bool { return specTypes[kind] == nil })
}

func kindNames() []string {
	var names []string
	for _, kind := range supportedKinds() {
		names = append(names, string(kind))
	}
	return names
}

// closestKind returns the next step for a word that is no kind.
func closestKind(word string) string {
	if next := didYouMean(word, kindNames()); next != "" {
		return next
	}
	return "the kinds of today: " + strings.Join(kindNames(), ", ")
}

// scopeless reports whether objects of a kind need no scope: without one they are in api.Unscoped.
func scopeless(kind api.Kind) bool { return kind == api.KindAsset || kind == api.KindRegistry }

// cronJob accepts the fields of its job beside the schedule, or in an object `job`, as plugins write it.
func (d *decoder) cronJob(n *node) map[string]any {
	nested := n.find("job")
	if d.native || nested == nil || nested.value.kind != objectNode {
		return d.structure(n, specTypes[api.KindCronJob], "")
	}
	flat := *n
	flat.fields = nil
	for _, f := range n.fields {
		if f.key != "job" {
			flat.fields = append(flat.fields, f)
		}
	}
	flat.fields = append(flat.fields, nested.value.fields...)
	return d.structure(&flat, specTypes[api.KindCronJob], "")
}

// expandApp returns the deployment and the ingress that an app stands for, and any other draft as it is.
func expandApp(d *draft) []*draft {
	if d.object.Kind != api.KindApp {
		return []*draft{d}
	}
	deployment, ingress := *d, *d
	deployment.object.Kind, ingress.object.Kind = api.KindDeployment, api.KindIngress
	deployment.spec, ingress.spec = map[string]any{}, map[string]any{}
	routed := map[string]bool{}
	for _, p := range properties(specTypes[api.KindIngress]) {
		routed[p.name] = true
	}
	for name, value := range d.spec {
		if routed[name] {
			ingress.spec[name] = value
		} else {
			deployment.spec[name] = value
		}
	}
	return []*draft{&deployment, &ingress}
}
