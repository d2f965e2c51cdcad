package records

import (
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/view"
)

// IndexReferring finds the objects whose spec holds a ${ref.…}: Ref.String() of its target → objects.
const IndexReferring = "objects.refs"

// Referring returns the objects whose spec refers to an object, whether that exists or not.
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

// With returns the snapshot as it will be once objects are stored, with the nodes' reports of their images. Object and
// Found return them, listings don't include them.
func (s Snapshot) With(objects []api.Object, found ...Found) Snapshot {
	next := ahead{s.Reader, make(map[string]*api.Object, len(objects)), make(map[string]*Found, len(found))}
	for _, object := range objects {
		next.objects[ObjectKey(object.Ref())] = &object
	}
	for _, image := range found {
		next.found[FoundKey(image.Answer.Owner)] = &image
	}
	return Snapshot{Reader: next}
}

// ahead is a Reader that also returns objects which aren't stored yet; see With.
type ahead struct {
	Reader
	objects map[string]*api.Object
	found   map[string]*Found
}

func (a ahead) Get(key string) (view.Record, bool) {
	if found := a.found[key]; found != nil {
		return view.Record{Key: key, Value: found}, true
	}
	record, ok := a.Reader.Get(key)
	if object := a.objects[key]; object != nil {
		record.Key, record.Value = key, object
		return record, true
	}
	return record, ok
}
