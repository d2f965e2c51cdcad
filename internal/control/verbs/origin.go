package verbs

import (
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// stampOrigin stamps who made an object, as far as that decides what the object may do: nobody declares it. What can be
// read of it in labels follows the stamps.
func (o ApplyOptions) stampOrigin(old api.Object, next *api.Object, changed bool) {
	created, stamps := old.Metadata.UID == "", next.Metadata.Stamps
	if created && o.manager() != api.ManagerApply {
		stamps = with(stamps, api.StampCreator, o.manager())
	}
	if created || o.Sync != nil && old.Creator() == o.manager() || o.Sync == nil && changed &&
		o.decidesConfinement(old) {
		confined := ""
		if o.confined() {
			confined = "true"
		}
		stamps = stamped(stamps, api.StampConfined, confined)
	}
	if o.manager() == api.ManagerApply {
		made := o.Made[next.Ref()]
		stamps = stamped(stamped(stamps, api.StampMacro, made.Macro), api.StampDotted, made.Dotted)
		next.Metadata.Labels = labelled(next.Metadata.Labels, made)
	}
	next.Metadata.Stamps = stamps
}

// decidesConfinement reports whether a person's change decides if calls for an object are confined: that of a person
// who isn't an admin always, that of an admin for what people declare.
func (o ApplyOptions) decidesConfinement(old api.Object) bool {
	return o.manager() == api.ManagerApply && (o.confined() || old.Creator() == api.ManagerApply)
}

// stamped returns stamps with one of them set, or without it if the value is empty.
func stamped(stamps map[string]string, key, value string) map[string]string {
	switch {
	case stamps[key] == value:
		return stamps
	case value == "":
		return without(stamps, key)
	}
	return with(stamps, key, value)
}

// labelled returns labels with those that Tend writes.
func labelled(labels map[string]string, made Made) map[string]string {
	out := maps.Clone(labels)
	maps.DeleteFunc(out, func(key, _ string) bool { return strings.HasPrefix(key, api.LabelPrefix) })
	if made.Macro != "" {
		if out == nil {
			out = map[string]string{}
		}
		out[api.LabelMacro] = made.Macro
	}
	return out
}

// checkReserved refuses labels and annotations that only Tend writes. What is stored may be sent again, as the output
// of `tend get` is.
func checkReserved(stored *api.Object, declared api.Object, found *faults) {
	var have api.Metadata
	if stored != nil {
		have = stored.Metadata
	}
	for _, pair := range []struct {
		field          string
		declared, have map[string]string
	}{
		{"metadata.labels", declared.Metadata.Labels, have.Labels},
		{"metadata.annotations", declared.Metadata.Annotations, have.Annotations},
	} {
		for _, key := range slices.Sorted(maps.Keys(pair.declared)) {
			value := pair.declared[key]
			if has, there := pair.have[key]; strings.HasPrefix(key, api.LabelPrefix) && (!there || has != value) {
				found.add(Invalid, declared.Ref(), pair.field,
					"leave it out; choose a name that does not begin with "+api.LabelPrefix,
					"%q is Tend's own: only Tend writes names that begin with %s", key, api.LabelPrefix)
			}
		}
	}
}
