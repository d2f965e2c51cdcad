package api

import (
	"fmt"
	"strings"

	"tend.dev/tend/api/pattern"
)

// The spaces a reference may point into.
const (
	SpaceRef   = "ref"   // a fact of another object: ${ref.kind.name.field}, ${ref.kind.scope.name.field}
	SpaceAsset = "asset" // a file of an asset: ${asset.name.key}, ${asset.scope.name.key}
	// SpaceConfig is a value of a bucket: ${config.KEY} of those the object reads, ${config.name.KEY} and
	// ${config.scope.name.KEY} of one app's. It is a reference in env and webhooks alone; elsewhere the text is literal.
	SpaceConfig = "config"
)

// FilterURL percent-encodes a value for a URL: ${config.PASSWORD|urlencode}.
const FilterURL = "urlencode"

// Reference is one ${space.a.b} in a text of a spec. What it stands for is looked up when a container is made; the
// stored spec keeps the text. Written $${space.a.b} it stands for itself.
type Reference struct {
	// Text is the reference as written, with its braces.
	Text string
	// Space is SpaceRef, SpaceAsset or SpaceConfig; Path are the parts behind it.
	Space string
	Path  []string
	// Filter follows a | and changes the value: FilterURL, or empty.
	Filter string
	// Start and End are where it lies in the text. Escaped ones begin at the first $.
	Start, End int
	// Escaped: it was written with a second $ and stands for itself.
	Escaped bool
}

var (
	// referenceForm takes slips of the pen for references too, so that Check can refuse them.
	referenceForm = pattern.Lazy(`\$?\$\{(?i:refs?|assets?|configs?)\.[^}]*\}`)
	referencePart = pattern.Lazy(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)
)

// References finds every ${ref.…}, ${asset.…} and ${config.…} in a text, escaped ones too, in order. Any other ${…} is
// left to the shell or the program.
func References(text string) []Reference {
	if !strings.Contains(text, "${") {
		return nil
	}
	var found []Reference
	for _, at := range referenceForm().FindAllStringIndex(text, -1) {
		written := text[at[0]:at[1]]
		bare := "${" + strings.TrimLeft(written, "${")
		path, filter, filtered := strings.Cut(strings.TrimSuffix(bare[2:], "}"), "|")
		if filtered && filter == "" {
			filter = "|" // Check refuses it
		}
		parts := strings.Split(path, ".")
		found = append(found, Reference{
			Text: bare, Space: strings.TrimSuffix(strings.ToLower(parts[0]), "s"), Path: parts[1:], Filter: filter,
			Start: at[0], End: at[1], Escaped: strings.HasPrefix(written, "$$"),
		})
	}
	return found
}

// Check returns what is wrong with the form of a reference, whatever it points at.
func (r Reference) Check() error {
	if !strings.HasPrefix(r.Text, "${"+r.Space+".") {
		return fmt.Errorf("%s: write ${%s.…; or $$%s for the characters themselves (in JSON one $ less)",
			r.Text, r.Space, r.Text)
	}
	if r.Filter != "" && (r.Filter != FilterURL || r.Space == SpaceAsset) {
		return fmt.Errorf("%s: only |%s may stand behind a value; write $$%s for the characters themselves (in JSON one $ less)", r.Text, FilterURL, r.Text)
	}
	for _, part := range r.Path {
		if !referencePart().MatchString(part) {
			return fmt.Errorf("%s: %q is not a name; write $$%s for the characters themselves (in JSON one $ less)",
				r.Text, part, r.Text)
		}
	}
	switch r.Space {
	case SpaceAsset:
		if len(r.Path) != 2 && len(r.Path) != 3 {
			return fmt.Errorf("%s: want ${asset.name.key} or ${asset.scope.name.key}", r.Text)
		}
	case SpaceConfig:
		if len(r.Path) > 3 {
			return fmt.Errorf("%s: want ${config.KEY}, ${config.name.KEY} or ${config.scope.name.KEY}", r.Text)
		}
		if err := CheckConfigKey(r.Path[len(r.Path)-1]); err != nil {
			return fmt.Errorf("%s: %w", r.Text, err)
		}
	case SpaceRef:
		if len(r.Path) != 3 && len(r.Path) != 4 {
			return fmt.Errorf("%s: want ${ref.kind.name.field} or ${ref.kind.scope.name.field}", r.Text)
		}
		if _, err := ParseKind(r.Path[0]); err != nil {
			return fmt.Errorf("%s: %w", r.Text, err)
		}
	}
	return nil
}

var (
	factOfAll     = pattern.Lazy(`^(host|port|address|image|release)$`)
	factOfOrdinal = pattern.Lazy(`^host-(0|[1-9][0-9]{0,8})$`)
)

// CheckFact returns an error if a well-formed ${ref.…} can never have a value for its consumer.
func (r Reference) CheckFact(consumer Ref) error {
	target, field := r.Target(consumer.Scope)
	switch {
	case !target.Kind.HasSlots():
		return fmt.Errorf("%s: deployments and statefulsets alone have facts to refer to", r.Text)
	case target == consumer:
		return fmt.Errorf("%s: an object can't refer to itself; its variables TEND_SCOPE and TEND_NAME say who it is", r.Text)
	case factOfAll().MatchString(field), target.Kind == KindStatefulSet && factOfOrdinal().MatchString(field):
		return nil
	}
	return fmt.Errorf("%s: a %s has no field %s: there are host, port, address, image, release, and of a statefulset host-0, host-1 and so on",
		r.Text, target.Kind, field)
}

// Target is the object a well-formed ${ref.…} points at and the field of it, seen from an object of a scope.
func (r Reference) Target(scope string) (ref Ref, field string) {
	kind, _ := ParseKind(r.Path[0])
	if len(r.Path) == 4 {
		return Ref{Kind: kind, Scope: r.Path[1], Name: r.Path[2]}, r.Path[3]
	}
	return Ref{Kind: kind, Scope: scope, Name: r.Path[1]}, r.Path[2]
}

// Asset is the asset a well-formed ${asset.…} points at and the key in it, seen from an object of a scope.
func (r Reference) Asset(scope string) (ref Ref, file string) {
	if len(r.Path) == 3 {
		return Ref{Kind: KindAsset, Scope: r.Path[0], Name: r.Path[1]}, r.Path[2]
	}
	return Ref{Kind: KindAsset, Scope: scope, Name: r.Path[0]}, r.Path[1]
}
