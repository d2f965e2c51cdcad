package verbs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

// setName matches the names of apply sets: they are part of a stamp and of query strings.
var setName = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$`)

// checkRequest finds errors in an apply as a whole.
func checkRequest(objects []api.Object, opts ApplyOptions) error {
	switch {
	case len(objects) == 0 && opts.Prune:
		return invalid("to remove everything, delete the objects by name",
			"an empty input with prune would delete all the set ever applied")
	case len(objects) == 0:
		return invalid("give at least one manifest", "nothing to apply")
	case len(objects) > api.MaxApplyObjects:
		return &Error{Reason: TooLarge, Next: "apply in smaller parts",
			Detail: plural(len(objects), "object") + " in one apply; at most " + plural(api.MaxApplyObjects, "object")}
	case opts.Prune && opts.Set == "":
		return invalid("name the set (set=…): the CLI makes one from its sources",
			"prune removes only what the same set applied before, and no set is named")
	case opts.Set != "" && !setName().MatchString(opts.Set):
		return invalid("use letters, digits and . _ : / -, at most 128", "%q is not the name of a set", opts.Set)
	case !ownSet(opts):
		return invalid("name the set otherwise", "the set %q is that of a sync, which alone applies as it", opts.Set)
	}
	return nil
}

// ownSet reports whether who applies may name its set so: that of a sync says which sync has created an object.
func ownSet(opts ApplyOptions) bool {
	of, _, _ := strings.Cut(opts.Set, "/")
	return !strings.HasPrefix(of, api.SyncManager("")) || of == opts.manager()
}

// checkObjects finds every error in the objects that doesn't depend on the store. Without validate it checks only the
// form: the stored object may have what a manager leaves out.
func checkObjects(objects []api.Object, validate func(api.Object) []api.FieldError) error {
	var all []api.FieldError
	count := 0
	seen := make(map[api.Ref]bool, len(objects))
	for _, object := range objects {
		ref := object.Ref()
		found := []api.FieldError{{Object: ref.String(), Detail: "is declared twice"}}
		if !seen[ref] {
			found = checkObject(object, validate)
		}
		seen[ref] = true
		count += len(found)
		all = append(all, found[:min(len(found), mostFaults-len(all))]...)
	}
	if count == 0 {
		return nil
	}
	return &Error{Reason: Invalid, Detail: plural(count, "fault") + " found; nothing was stored" + listed(count),
		Next: "correct the manifests and apply again", Errors: all}
}

func checkObject(object api.Object, validate func(api.Object) []api.FieldError) []api.FieldError {
	ref := object.Ref().String()
	if object.Kind == "" || object.Name == "" {
		return []api.FieldError{{Object: ref, Detail: "kind and name are needed"}}
	}
	fields, err := fieldsOf(object.Spec)
	if err != nil {
		return []api.FieldError{{Object: ref, Field: "spec", Detail: err.Error()}}
	}
	var found []api.FieldError
	if _, has := fields["env_file"]; has {
		found = append(found, api.FieldError{Object: ref, Field: "env_file",
			Detail: "is read by the client and merged into env; the server can't see the client's files"})
		delete(fields, "env_file")
		object.Spec, _ = json.Marshal(fields)
	}
	if validate == nil {
		return found
	}
	for _, fault := range validate(object) {
		fault.Object = cmp.Or(fault.Object, ref)
		found = append(found, fault)
	}
	return found
}

// normalSpec returns the spec as stored: as written but for white space, and {} if there is none.
func normalSpec(spec json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(spec)) == 0 || string(bytes.TrimSpace(spec)) == "null" {
		return json.RawMessage("{}")
	}
	var out bytes.Buffer
	if json.Compact(&out, spec) != nil {
		return spec
	}
	return out.Bytes()
}
