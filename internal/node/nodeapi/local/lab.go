package local

import (
	"bytes"
	"iter"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/hosts"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// routedLabs returns the labs that have a host.
func routedLabs(snap records.Snapshot) iter.Seq2[*api.Object, api.IngressSpec] {
	return func(yield func(*api.Object, api.IngressSpec) bool) {
		for object := range snap.Objects(api.KindLab) {
			if route, routed := labRoute(object.Value); routed && !yield(object.Value, route) {
				return
			}
		}
	}
}

func labRoute(object *api.Object) (api.IngressSpec, bool) {
	if !bytes.Contains(object.Spec, []byte(`"host"`)) {
		return api.IngressSpec{}, false // most labs have none, and decoding takes time
	}
	spec, err := api.DecodeSpec[api.LabSpec](*object)
	if err != nil {
		return api.IngressSpec{}, false
	}
	return spec.Route()
}

// labRoutes returns the routes of the labs that run: there is none before a lab runs, and none after its end.
func labRoutes(snap records.Snapshot, claims hosts.Table) (out []node.Ingress) {
	for object, route := range routedLabs(snap) {
		status := snap.LabStatus(object.Ref())
		if object.Metadata.Deleting() || !status.Exists() || status.Value.Phase != api.LabRunning {
			continue
		}
		if _, guest, served := takesPolicy(claims, *object, &route); served {
			out = append(out, node.Ingress{Ref: object.Ref(), Spec: route, Guest: guest})
		}
	}
	return out
}

// labMoved returns the effect of a lab's status: its route begins or ends with its phase RUNNING.
func (s *Service) labMoved(change view.Change) []effect {
	runs := func(value any) bool {
		status, ok := value.(*api.LabStatus)
		return ok && status.Phase == api.LabRunning
	}
	if runs(change.Old) == (runs(change.New) && !change.Deleted) {
		return nil
	}
	ref, _, ok := records.ParseRef(strings.TrimPrefix(change.Key, records.StatusPrefix))
	if object := s.snapshot().Object(ref); ok && object.Exists() {
		if _, routed := labRoute(object.Value); !routed {
			return nil
		}
	}
	return []effect{{table: true}}
}
