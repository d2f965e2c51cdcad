package clusterjob

import (
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// healths are the values that an operator may report.
var healths = []api.ClusterHealth{
	api.ClusterHealthy, api.ClusterProgressing, api.ClusterDegraded, api.ClusterMissing, api.ClusterUnknown,
}

// inventory records what an application consists of, and the health of that, as it is reported of a resource. It
// reports whether that was not known.
func (r *report) inventory(has pull.Inventory, of api.ClusterResource) bool {
	var objects []api.ClusterObject
	for _, o := range has.Objects[:min(len(has.Objects), pull.MaxInventory)] {
		objects = append(objects, api.ClusterObject{
			ClusterResource: api.ClusterResource{
				APIVersion: short(o.APIVersion, maxWord), Kind: short(o.Kind, maxWord), Namespace: short(o.Namespace, maxWord),
				Name: short(o.Name, 2*maxWord),
			},
			Health: known(o.Health), Message: short(o.Message, 2*maxWord),
		})
	}
	next, before := known(has.Health), r.ClusterReport
	r.Objects, r.ObjectCount, r.Health, r.HealthOf = objects, max(has.Count, len(objects)), next, nil
	if next != "" {
		r.HealthOf = &api.ClusterResource{UID: short(of.UID, maxWord), Generation: of.Generation}
	}
	return !slices.Equal(objects, before.Objects) || r.ObjectCount != before.ObjectCount || next != before.Health ||
		valueOf(r.HealthOf) != valueOf(before.HealthOf)
}

func valueOf(resource *api.ClusterResource) (is api.ClusterResource) {
	if resource != nil {
		is = *resource
	}
	return is
}

// known returns a health, or an empty one for a word that means nothing here.
func known(health api.ClusterHealth) api.ClusterHealth {
	if slices.Contains(healths, health) {
		return health
	}
	return ""
}

// withoutHealth returns objects whose health is not known.
func withoutHealth(objects []api.ClusterObject) []api.ClusterObject {
	objects = slices.Clone(objects)
	for i := range objects {
		objects[i].Health, objects[i].Message = "", ""
	}
	return objects
}

// objects returns what an application consists of. Its health doesn't count before the cluster has what is declared, or
// while nothing is heard of the cluster.
func (in Input) objects(job *api.ClusterJob) (objects []api.ClusterObject, count int, worst api.ClusterHealth) {
	objects, count, worst = in.Report.Objects, in.Report.ObjectCount, in.Report.Health
	if !in.applied(job) || in.silent() != nil {
		return withoutHealth(objects), count, ""
	}
	return objects, count, worst
}
