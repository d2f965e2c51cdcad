package clusterjob

import (
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Kinds are the rows of the table of kinds.
var Kinds = []func() control.Kind{clusters, instances, operations}

// clusters returns the kind of clusters. A cluster that falls silent is found by the pass over all of them.
func clusters() control.Kind {
	named := func(name string) []api.Ref {
		return []api.Ref{{Kind: api.KindCluster, Scope: api.Unscoped, Name: name}}
	}
	return control.Kind{
		KindInfo: api.KindCluster.Info(),
		Step: control.Report(func(o control.Observation, before api.ClusterStatus) api.ClusterStatus {
			access, contact := o.ClusterAccess(o.Ref.Name), o.ClusterContact(o.Ref.Name)
			return clusterjob.Status(*o.Object.Value, o.Object.Modified, access.Value, contact.Value, before, o.Now)
		}),
		Gone: func(o control.Observation) (control.Step, error) {
			step := control.Forget(o, records.ClusterAccessKey(o.Ref.Name))
			if o.ClusterContact(o.Ref.Name).Exists() {
				step.Txn.Delete(records.ClusterContactKey(o.Ref.Name)) // a live operator goes on to write it
			}
			return step, nil
		},
		Reads: []control.Input{
			control.Named(records.ClusterAccessPrefix, named),
			control.Named(records.ActualClusterPrefix, named),
		},
	}
}

func instances() control.Kind { return delivered(api.KindApplicationInstance) }

func operations() control.Kind { return delivered(api.KindOperation) }

// delivered returns a kind whose objects are delivered to clusters. A change concerns an object that its cluster
// reported, and all objects of a cluster that changed.
func delivered(kind api.Kind) control.Kind {
	return control.Kind{
		KindInfo: kind.Info(),
		Step:     step,
		Gone:     forget,
		Reads: []control.Input{
			control.Records(func(_ records.Snapshot, key string, _ *api.ClusterReport) []api.Ref {
				ref, _, _ := records.ParseRef(strings.TrimPrefix(key, records.ActualObjectsPrefix))
				return []api.Ref{ref}
			}),
			control.Records(func(s records.Snapshot, key string, _ *api.ClusterStatus) []api.Ref {
				ref, _, _ := records.ParseRef(strings.TrimPrefix(key, records.StatusPrefix))
				return within(s, ref.Name)
			}),
			func(s records.Snapshot, change view.Change) []api.Ref {
				if object, ok := control.Changed(change).(*api.Object); ok && object.Kind == api.KindCluster {
					return within(s, object.Name)
				}
				return nil
			},
		},
	}
}

// within returns the objects that are delivered to a cluster.
func within(s records.Snapshot, name string) (out []api.Ref) {
	for _, object := range s.InCluster(name) {
		out = append(out, object.Value.Ref())
	}
	return out
}
