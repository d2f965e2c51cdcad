package ownership

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"tend.dev/tend/api"
)

var managers = []string{api.ManagerApply, "autoscaler", "sync"}

// drawSpec makes a spec of few fields and values, so that managers meet. With empties, blocks may be empty or null.
func drawSpec(t *rapid.T, empties bool) json.RawMessage {
	blocks := map[string]any{}
	put := func(into map[string]any, key string, values ...any) {
		if at := rapid.IntRange(-2, len(values)-1).Draw(t, key); at >= 0 {
			into[key] = values[at]
		}
	}
	put(blocks, "image", "a", "b")
	put(blocks, "replicas", 1, 2)
	put(blocks, "ports", []string{"80"}, []string{"80", "81"})
	for _, name := range []string{"env", "resources"} {
		block := map[string]any{}
		put(block, "A", "1", "2")
		put(block, "B", "1", "2")
		if name == "resources" {
			limits := map[string]any{}
			put(limits, "cpu", "1", "2")
			if len(limits) > 0 {
				block["limits"] = limits
			}
		}
		switch {
		case len(block) > 0:
			blocks[name] = block
		case empties:
			put(blocks, name, map[string]any{}, nil)
		}
	}
	text, err := json.Marshal(blocks)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// model is an object in a property's hands.
type model struct {
	spec   Tree
	fields json.RawMessage
	now    time.Time
}

func (m *model) stored() Stored { return Stored{Spec: m.spec, Fields: m.fields, Since: noon} }

func (m *model) apply(t *rapid.T, manager, actor string, spec json.RawMessage) (Tree, Outcome) {
	m.now = m.now.Add(time.Minute)
	declared, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Apply(m.stored(), declared, Change{Manager: manager, Actor: actor, At: m.now})
	if err != nil {
		t.Fatal(err)
	}
	return declared, out
}

// sets returns the paths each manager owns.
func sets(t *rapid.T, stored Stored) map[string][]string {
	lines, err := Blame(stored)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, l := range lines {
		if slices.Contains(out[l.Manager], l.Path) {
			t.Fatalf("%s owns %s twice", l.Manager, l.Path)
		}
		out[l.Manager] = append(out[l.Manager], l.Path)
	}
	return out
}

func paths(t Tree) []string {
	var out []string
	walk(t, func(path fieldpath.Path, _ any) { out = append(out, pathText(path)) })
	return out
}

// at returns the text of the leaf at a path, empty if there is none.
func at(t Tree, wanted string) (found string) {
	walk(t, func(path fieldpath.Path, value any) {
		if pathText(path) == wanted {
			line, _ := Text(value)
			found = string(line)
		}
	})
	return found
}

func TestSafety(t *testing.T) { rapid.Check(t, safety) }

func safety(t *rapid.T) {
	m := &model{spec: Tree{}, now: noon}
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		manager := rapid.SampledFrom(managers).Draw(t, "manager")
		before, owners := m.spec, sets(t, m.stored())
		spec := drawSpec(t, true)
		declared, out := m.apply(t, manager, rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "actor"), spec)
		if len(out.Conflicts) > 0 && !rapid.Bool().Draw(t, "force") {
			continue
		}
		m.spec, m.fields = out.Spec, out.Fields
		after := sets(t, m.stored())

		owned := map[string]bool{}
		for _, set := range after {
			for _, path := range set {
				owned[path] = true
			}
		}
		for _, path := range paths(m.spec) {
			if !owned[path] {
				t.Fatalf("no manager owns %s", path)
			}
			delete(owned, path)
		}
		if len(owned) > 0 {
			t.Fatalf("%v is owned and not there", owned)
		}
		for _, path := range paths(declared) {
			if got := at(m.spec, path); got != "" && (got != at(declared, path) || !slices.Contains(after[manager], path)) {
				t.Fatalf("%s declared %s=%s; it is %s, owned by %v", manager, path, at(declared, path), got, after)
			}
		}
		for _, path := range paths(before) {
			others := slices.ContainsFunc(managers,
				func(other string) bool { return other != manager && slices.Contains(owners[other], path) })
			taken := slices.ContainsFunc(out.Conflicts, func(c api.FieldConflict) bool { return c.Path == path })
			got, leftOut := at(m.spec, path), at(declared, path) == ""
			switch {
			case leftOut && !others && got != "":
				t.Fatalf("%s left %s out and no other owns it; it is %s", manager, path, got)
			case others && !taken && got != at(before, path) && !(at(before, path) == "{}" && got == ""):
				t.Fatalf("another's %s became %q without a conflict", path, got)
			}
			for _, other := range managers {
				if taken && other != manager && slices.Contains(after[other], path) {
					t.Fatalf("%s was taken from %s, who has it still", path, other)
				}
			}
		}
		_, again := m.apply(t, manager, "eve", spec)
		if diff := cmp.Diff(m.spec, again.Spec); len(again.Conflicts) > 0 || diff != "" ||
			string(again.Fields) != string(m.fields) {
			t.Fatalf("the same again changed something: %v %s\n%s\n%s", again.Conflicts, diff, m.fields, again.Fields)
		}
	}
}

// TestLikeServerSideApply holds Apply against the merge that structured-merge-diff's own updater does.
func TestLikeServerSideApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		updater := (&merge.UpdaterBuilder{Converter: oneVersion{}, ReturnInputOnNoop: true}).BuildUpdater()
		m := &model{spec: Tree{}, now: noon}
		live, owners := typedOf(t, json.RawMessage(`{}`)), fieldpath.ManagedFields{}
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			manager := rapid.SampledFrom(managers).Draw(t, "manager")
			force := rapid.Bool().Draw(t, "force")
			spec := drawSpec(t, false)
			_, out := m.apply(t, manager, "", spec)
			nextLive, nextOwners, err := updater.Apply(live, typedOf(t, spec), "v1", owners.Copy(), manager, force)
			var conflicts merge.Conflicts
			if errors.As(err, &conflicts) {
				if diff := cmp.Diff(conflictPaths(conflicts), conflictsOf(out)); diff != "" {
					t.Fatalf("conflicts: %s", diff)
				}
				continue
			}
			if err != nil || (!force && len(out.Conflicts) > 0) {
				t.Fatalf("the updater says %v, Apply %v", err, out.Conflicts)
			}
			owners = nextOwners
			m.spec, m.fields = out.Spec, out.Fields
			merged, _ := Text(withoutShells(nextLive.AsValue().Unstructured()))
			if got, err := Text(m.spec); err != nil || string(got) != string(merged) {
				t.Fatalf("got %s, %v; the updater makes %s", got, err, merged)
			}
			live = typedOf(t, merged)
			// The updater's managers own blocks too: they are left with the leaves.
			want := map[string][]string{}
			for name, set := range owners {
				own := set.Set().Intersection(leaves(m.spec))
				owners[name] = fieldpath.NewVersionedSet(own, "v1", true)
				own.Iterate(func(path fieldpath.Path) { want[name] = append(want[name], pathText(path)) })
				slices.Sort(want[name])
			}
			have := sets(t, m.stored())
			for _, set := range have {
				slices.Sort(set)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Fatalf("owners: %s", diff)
			}
		}
	})
}

func typedOf(t *rapid.T, spec json.RawMessage) *typed.TypedValue {
	value, err := typed.DeducedParseableType.FromYAML(typed.YAMLObject(spec))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// withoutShells leaves out empty blocks: the updater leaves them, or null, behind where it took the last field away.
func withoutShells(value any) any {
	block, ok := value.(map[string]any)
	if !ok && value != nil && fmt.Sprint(value) != "map[]" {
		return value
	}
	out := map[string]any{}
	for key, below := range block {
		if below = withoutShells(below); fmt.Sprint(below) != "map[]" {
			out[key] = below
		}
	}
	return out
}

func conflictPaths(conflicts merge.Conflicts) []string {
	var out []string
	for _, c := range conflicts {
		out = append(out, fmt.Sprint(c.Manager, " ", pathText(c.Path)))
	}
	slices.Sort(out)
	return out
}

func conflictsOf(out Outcome) []string {
	var lines []string
	for _, c := range out.Conflicts {
		lines = append(lines, fmt.Sprint(c.Manager, " ", c.Path))
	}
	slices.Sort(lines)
	return lines
}

// oneVersion is the converter of a schema that has one version.
type oneVersion struct{}

func (oneVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }
