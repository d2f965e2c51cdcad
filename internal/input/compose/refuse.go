package compose

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/manifest"
)

// rounds bounds how often an object is validated: leaving out one value can cause another fault.
const rounds = 32

// add adds the object, without the values that Tend refuses.
func (c *converter) add(kind api.Kind, u *unit, spec any) error {
	raw, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	object := api.Object{Kind: kind, Scope: c.scope, Name: u.name, Spec: raw}
	for round := range rounds {
		faults := manifest.Validate(object)
		if len(faults) == 0 {
			c.sections = append(c.sections, manifest.Section{Object: object})
			return nil
		}
		if object.Spec, err = c.dropRefused(u, object.Spec, faults, round > rounds/2); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: can't be carried", u.at)
}

// errRequired is an error that leaving the value out does not fix.
var errRequired = errors.New("Tend can't run it")

// dropRefused removes the values that validation refuses, each by itself, and reports them: a bad entry doesn't take
// the rest of its list or table with it. whole removes the complete fields instead, which always terminates.
func (c *converter) dropRefused(
	u *unit, raw json.RawMessage, faults []api.FieldError, whole bool,
) (json.RawMessage, error) {
	spec, err := decodeSpec(raw)
	if err != nil {
		return nil, err
	}
	for _, cut := range cuts(faults, whole) {
		top, _ := cut.path[0].(string)
		switch {
		case top == "docker_options" && u.dropConflicting(c, spec):
			return json.Marshal(spec)
		case slices.Contains([]string{"image", "schedule", "name", "scope", "", "service"}, top):
			return nil, fmt.Errorf("%s: %w: %s: %s", u.at, errRequired, cut.fault.Field, cut.fault.Detail)
		}
		for !remove(spec, cut.path) {
			if cut.path = cut.path[:len(cut.path)-1]; len(cut.path) == 0 {
				return nil, fmt.Errorf("%s: %w: %s", u.at, errRequired, cut.fault.Error())
			}
		}
		c.report.lost(u.origin(cut.path), weightOf(top), "%s", sentence(top, cut.fault.Detail))
	}
	return json.Marshal(spec)
}

// sentence returns the text of a fault in a field. Some details of validation begin with the verb.
func sentence(field, detail string) string {
	first, _, _ := strings.Cut(detail, " ")
	if slices.Contains([]string{"and", "is", "are", "can't", "has", "have", "holds", "excludes", "exclude", "lies",
		"wants", "contains", "publish"}, first) {
		return field + " " + detail
	}
	return detail
}

func decodeSpec(raw json.RawMessage) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var spec map[string]any
	return spec, decoder.Decode(&spec)
}

// cut is a value to leave out, with the reason. Its path holds the keys (text) and indexes (int) that lead to it.
type cut struct {
	path  []any
	fault api.FieldError
}

// cuts returns the values to leave out for faults, each once. The entries of a list come last first, since removing one
// shifts those after it.
func cuts(faults []api.FieldError, whole bool) []cut {
	var out []cut
	for _, fault := range faults {
		next := cut{path: cutAt(fieldPath(fault.Field)), fault: fault}
		if whole {
			next.path = next.path[:1]
		}
		if !slices.ContainsFunc(out, func(c cut) bool { return slices.Equal(c.path, next.path) }) {
			out = append(out, next)
		}
	}
	slices.SortStableFunc(out, func(a, b cut) int {
		for i := range min(len(a.path), len(b.path)) {
			left, isIndex := a.path[i].(int)
			right, both := b.path[i].(int)
			if isIndex && both && left != right {
				return right - left
			}
			if order := cmp.Compare(fmt.Sprint(a.path[i]), fmt.Sprint(b.path[i])); order != 0 && !isIndex {
				return order
			}
		}
		return len(b.path) - len(a.path)
	})
	return out
}

// cutAt shortens a path to a value that can be left out alone: an entry of a list or a table, or a field of a block. A
// command without one of its words is another command, and a probe without its check is useless.
func cutAt(path []any) []any {
	switch path[0] {
	case "command", "entrypoint":
		return path[:1]
	case "probes":
		return path[:min(2, len(path))]
	}
	for i, step := range path {
		if _, index := step.(int); index {
			return path[:i+1]
		}
	}
	return path
}

// fieldPath splits a field's name as validation writes it: placement.constraints[0], env["A=B"].
func fieldPath(field string) []any {
	var out []any
	for field != "" {
		switch {
		case field[0] == '.':
			field = field[1:]
		case strings.HasPrefix(field, `["`):
			end := strings.Index(field[2:], `"]`)
			if end < 0 {
				return append(out, field)
			}
			var key string
			if json.Unmarshal([]byte(field[1:end+3]), &key) != nil {
				key = field[2 : end+2]
			}
			out, field = append(out, key), field[end+4:]
		case field[0] == '[':
			var n int
			end := strings.IndexByte(field, ']')
			if _, err := fmt.Sscanf(field, "[%d]", &n); err != nil || end < 0 {
				return append(out, field)
			}
			out, field = append(out, n), field[end+1:]
		default:
			end := strings.IndexAny(field, ".[")
			if end < 0 {
				end = len(field)
			}
			out, field = append(out, field[:end]), field[end:]
		}
	}
	if len(out) == 0 {
		return []any{""}
	}
	return out
}

// remove removes a value, and the block or list around it if that becomes empty. It returns false if there is no such
// value.
func remove(spec map[string]any, path []any) bool {
	_, removed := without(spec, path)
	return removed
}

// without returns the value without the part at the path.
func without(value any, path []any) (rest any, removed bool) {
	switch in := value.(type) {
	case map[string]any:
		key, isKey := path[0].(string)
		inner, found := in[key]
		if !isKey || !found {
			return value, false
		}
		if len(path) > 1 {
			if inner, removed = without(inner, path[1:]); !removed {
				return value, false
			}
			if !empty(inner) {
				in[key] = inner
				return in, true
			}
		}
		delete(in, key)
		return in, true
	case []any:
		at, isIndex := path[0].(int)
		if !isIndex || at < 0 || at >= len(in) {
			return value, false
		}
		if len(path) == 1 {
			return slices.Delete(in, at, at+1), true
		}
		in[at], removed = without(in[at], path[1:])
		return in, removed
	}
	return value, false
}

func empty(value any) bool {
	switch in := value.(type) {
	case map[string]any:
		return len(in) == 0
	case []any:
		return len(in) == 0
	}
	return false
}
