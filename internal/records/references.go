package records

import (
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/view"
)

// IndexReferring finds the objects whose spec holds a ${ref.…}: Ref.String() of its target → objects.
const IndexReferring = "objects.refs"

// Referring returns the objects whose spec holds a reference to an object, whether that exists or not.
func (s Snapshot) Referring(ref api.Ref) []Read[api.Object] {
	return collect[api.Object](s.Index(IndexReferring, ref.String()))
}

// referring returns the objects that an object refers to, each once. A reference is plain ASCII, so it reads the same
// in the spec's JSON.
func referring(_ string, value any) []string {
	object, ok := value.(*api.Object)
	if !ok {
		return nil
	}
	var targets []string
	for _, r := range api.References(string(object.Spec)) {
		if r.Escaped || r.Space != api.SpaceRef || r.Check() != nil {
			continue
		}
		target, _ := r.Target(object.Scope)
		if text := target.String(); !slices.Contains(targets, text) {
			targets = append(targets, text)
		}
	}
	return targets
}

// With returns the snapshot as it will be once objects are stored: Object returns them, listings don't include them.
func (s Snapshot) With(objects []api.Object) Snapshot {
	next := make(map[string]*api.Object, len(objects))
	for _, object := range objects {
		next[ObjectKey(object.Ref())] = &object
	}
	return Snapshot{Reader: ahead{Reader: s.Reader, objects: next}}
}

type ahead struct {
	Reader
	objects map[string]*api.Object
}

func (a ahead) Get(key string) (view.Record, bool) {
	record, ok := a.Reader.Get(key)
	if object := a.objects[key]; object != nil {
		record.Key, record.Value = key, object
		return record, true
	}
	return record, ok
}
