package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tend.dev/tend/api/pattern"
)

// Finding is something the author of the Compose file should know.
type Finding struct {
	File         string
	Line, Column int
	// Path is its position: services.web.ports[0].
	Path string
	// Lost is set if the value isn't in the manifests. Otherwise the value is changed or needs a further step.
	Lost bool
	// Weight ranks the finding by what a person has to do.
	Weight Weight
	Text   string
}

// String returns file:line:column: path: what.
func (f Finding) String() string {
	text := f.Path + ": " + f.sentence()
	if f.Line > 0 {
		text = fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, text)
	}
	return text
}

// sentence returns the finding's text, with the fate of the value.
func (f Finding) sentence() string {
	if f.Lost {
		return "not carried: " + f.Text
	}
	return f.Text
}

// report records the converted values of a file. A value without a record was not converted.
type report struct {
	// carried are paths whose own value was converted; whole are those converted with everything below. [*] stands for
	// any index.
	carried, whole map[string]bool
	// findings are findings by path, in the order they were made.
	findings map[string][]Finding
	// asides are notes for paths, reported where a file contains them.
	asides map[string]string
	// implied are paths that compose-go may have made up: they are reported only where a file contains them.
	implied map[string]bool
	found   []Finding
	// seen keeps an anchor that is used twice from being reported twice.
	seen map[Finding]bool
	// positions holds the positions of the visited values.
	positions map[string]Finding
	// around are the paths with a converted value or a finding below them. A value whose path isn't among them is
	// reported as a whole.
	around map[string]bool
}

func newReport() *report {
	return &report{
		carried: map[string]bool{}, whole: map[string]bool{}, findings: map[string][]Finding{}, asides: map[string]string{},
		implied: map[string]bool{}, seen: map[Finding]bool{}, positions: map[string]Finding{},
	}
}

func (r *report) carry(paths ...string) {
	for _, path := range paths {
		r.carried[path] = true
	}
}

func (r *report) carryAll(paths ...string) {
	for _, path := range paths {
		r.whole[path] = true
	}
}

// lost reports that the value at the path, with everything below, is not in the manifests.
func (r *report) lost(path string, weight Weight, format string, args ...any) {
	r.findings[path] = append(r.findings[path],
		Finding{Path: path, Lost: true, Weight: weight, Text: fmt.Sprintf(format, args...)})
}

// lostIfWritten is lost for values that compose-go may have filled in.
func (r *report) lostIfWritten(path string, weight Weight, format string, args ...any) {
	r.implied[path] = true
	r.lost(path, weight, format, args...)
}

// note reports how a value was converted if its effect stays the same.
func (r *report) note(path, format string, args ...any) {
	r.findings[path] = append(r.findings[path], Finding{Path: path, Text: fmt.Sprintf(format, args...)})
}

// differs reports a converted value that behaves differently than under Compose.
func (r *report) differs(path, format string, args ...any) {
	r.findings[path] = append(r.findings[path], Finding{Path: path, Weight: Changes, Text: fmt.Sprintf(format, args...)})
}

// noteIfWritten adds a note if a file contains the path: the value that compose-go returns doesn't show it.
func (r *report) noteIfWritten(path, text string) { r.asides[path] = text }

// finish walks the files and returns all findings.
func (r *report) finish(pieces []piece) []Finding {
	placed := map[string]bool{}
	r.surround()
	for _, p := range pieces {
		r.walk(p.file, p.node, p.path, placed)
	}
	for path, findings := range r.findings {
		if placed[path] || r.implied[path] {
			continue
		}
		for _, f := range findings { // it was written in another form, or in a file that isn't here
			near := r.nearest(path)
			f.File, f.Line, f.Column = near.File, near.Line, near.Column
			r.found = append(r.found, f)
		}
	}
	slices.SortStableFunc(r.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Text, b.Text))
	})
	return r.found
}

// nearest returns the position of the closest value around a path.
func (r *report) nearest(path string) Finding {
	for path != "" {
		if at, known := r.positions[path]; known {
			return at
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return Finding{}
}

// surround marks the paths above each record.
func (r *report) surround() {
	r.around = map[string]bool{"": true}
	mark := func(path string) {
		for path != "" {
			path = path[:max(strings.LastIndexAny(path, ".["), 0)]
			r.around[path] = true
		}
	}
	for path := range r.carried {
		mark(path)
	}
	for path := range r.whole {
		mark(path)
	}
	for path := range r.findings {
		mark(path)
		mark(anyIndex().ReplaceAllString(path, "[*]"))
	}
}

var anyIndex = pattern.Lazy(`\[\d+\]`)

// walk visits a value. A value in findings is reported with its position, one in carried is passed over, a mapping or
// list is entered, and any other value is reported as lost.
func (r *report) walk(file string, n *yaml.Node, path string, placed map[string]bool) {
	r.visit(file, resolved(n), n, path, placed, 0)
}

func (r *report) visit(file string, n, at *yaml.Node, path string, placed map[string]bool, depth int) {
	if n == nil || depth > 64 {
		return
	}
	general := anyIndex().ReplaceAllString(path, "[*]")
	if _, known := r.positions[path]; !known {
		r.positions[path] = Finding{File: file, Line: at.Line, Column: at.Column}
	}
	lost := false
	for _, finding := range r.findings[path] {
		finding.File, finding.Line, finding.Column = file, at.Line, at.Column
		r.add(finding)
		placed[path] = true
		lost = lost || finding.Lost
	}
	if aside, has := r.asides[path]; has {
		r.add(Finding{File: file, Line: at.Line, Column: at.Column, Path: path, Text: aside})
	}
	if lost || r.whole[path] || r.whole[general] {
		return
	}
	known := r.around[path] || r.around[general] || r.carried[path] || r.carried[general]
	switch {
	case n.Kind == yaml.MappingNode && known && len(n.Content) > 0:
		r.visitKeys(file, n, path, placed, depth)
		return
	case n.Kind == yaml.SequenceNode && known && len(n.Content) > 0:
		for i, item := range n.Content {
			r.visit(file, resolved(item), item, entry(path, i, resolved(item)), placed, depth+1)
		}
		return
	}
	if path != "" && !r.carried[path] && !r.carried[general] {
		weight, text := why(general)
		r.add(Finding{File: file, Line: at.Line, Column: at.Column, Path: path, Lost: true, Weight: weight, Text: text})
	}
}

// entry returns the path of a list's entry. A build's argument has that of its name, which is known of the other form.
func entry(path string, i int, n *yaml.Node) string {
	if n != nil && n.Kind == yaml.ScalarNode && strings.HasSuffix(path, ".build.args") {
		name, _, _ := strings.Cut(n.Value, "=")
		return join(path, name)
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

func (r *report) visitKeys(file string, n *yaml.Node, path string, placed map[string]bool, depth int) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolved(n.Content[i+1])
		if key.Tag == "!!merge" || key.Value == "<<" {
			r.visitMerged(file, value, path, placed, depth+1)
			continue
		}
		here := join(path, key.Value)
		if strings.HasPrefix(key.Value, "x-") && !r.userKeys(path) {
			r.add(Finding{File: file, Line: key.Line, Column: key.Column, Path: here, Lost: true,
				Text: "an extension is for other programs; what it anchors is used where it is referred to"})
			continue
		}
		r.visit(file, value, key, here, placed, depth+1)
	}
}

// visitMerged visits the mappings that << merges into a mapping: one, or a list of them.
func (r *report) visitMerged(file string, n *yaml.Node, path string, placed map[string]bool, depth int) {
	switch {
	case n == nil || depth > 64:
	case n.Kind == yaml.MappingNode:
		r.visitKeys(file, n, path, placed, depth)
	case n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			r.visitMerged(file, resolved(item), path, placed, depth+1)
		}
	}
}

// userKeys reports whether the keys below a path are names the author chose, so that x-y may be one of them.
func (r *report) userKeys(path string) bool {
	return slices.Contains([]string{"services", "jobs", "volumes", "networks", "secrets", "configs", "models"}, path)
}

func (r *report) add(f Finding) {
	if !r.seen[f] {
		r.seen[f] = true
		r.found = append(r.found, f)
	}
}

var plainKey = pattern.Lazy(`^[A-Za-z0-9_-]+$`)

func join(path, key string) string {
	switch {
	case !plainKey().MatchString(key):
		return fmt.Sprintf("%s[%q]", path, key)
	case path == "":
		return key
	}
	return path + "." + key
}
