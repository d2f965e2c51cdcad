package compose

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/schema"
	"go.yaml.in/yaml/v3"

	"tend.dev/tend/api/pattern"
)

// mostFaults bounds how many faults of a file are named.
const mostFaults = 32

// FileError lists the faults of Compose files, each with its place.
type FileError struct {
	// Faults holds at least one fault, in the order of the files.
	Faults []Finding
	// Cause is the error of compose-go.
	Cause error
}

func (e *FileError) Error() string {
	var lines []string
	for _, f := range e.Faults {
		line := f.Text
		if f.Path != "" {
			line = f.Path + ": " + line
		}
		switch {
		case f.Column > 0:
			line = fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, line)
		case f.Line > 0:
			line = fmt.Sprintf("%s:%d: %s", f.File, f.Line, line)
		default:
			line = f.File + ": " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(append(lines, "  correct it and import again; Compose itself refuses it too"), "\n")
}

func (e *FileError) Unwrap() error { return e.Cause }

var (
	ofLine    = pattern.Lazy(`^(?:yaml: )?(?:.*\b)?line (\d+)(?:, column \d+)?: `)
	ofService = pattern.Lazy(`^service "([^"]+)" `)
	unwanted  = pattern.Lazy(`'([^']*)'`)
)

// explained turns an error of compose-go into a FileError. compose-go stops at its first fault; explained finds every
// value that the schema refuses.
func explained(o Options, pieces []piece, cause error) error {
	var absent *fs.PathError
	if errors.As(cause, &absent) && errors.Is(absent, fs.ErrNotExist) {
		for _, file := range o.Files {
			if whole, err := filepath.Abs(file); err == nil && whole == absent.Path {
				return &fs.PathError{Op: absent.Op, Path: file, Err: absent.Err}
			}
		}
	}
	if strings.Contains(cause.Error(), "validating ") {
		var faults []Finding
		for _, p := range pieces {
			if p.path == "" {
				faults = append(faults, schemaFaults(p)...)
			}
		}
		if len(faults) > 0 {
			return &FileError{Faults: faults, Cause: cause}
		}
	}
	text := strings.TrimPrefix(cause.Error(), "read Compose file: ")
	text = strings.TrimSuffix(text, ": invalid compose project")
	fault := Finding{File: o.Files[0], Text: text}
	if at := ofLine().FindStringSubmatch(text); at != nil {
		fault.Line, _ = strconv.Atoi(at[1])
		fault.Text = text[len(at[0]):]
	}
	if named := ofService().FindStringSubmatch(text); named != nil {
		for _, p := range pieces {
			if key := keyAt(p.node, "services."+named[1]); p.path == "" && key != nil {
				fault = Finding{File: p.file, Line: key.Line, Column: key.Column, Path: "services." + named[1],
					Text: text[len(named[0]):]}
			}
		}
	}
	return &FileError{Faults: []Finding{fault}, Cause: cause}
}

// schemaFaults returns every value of one file that Compose's schema refuses. It removes the refused value and
// validates again.
func schemaFaults(p piece) (out []Finding) {
	var content map[string]any
	if p.node.Decode(&content) != nil {
		return nil
	}
	defer func() {
		slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	}()
	for range mostFaults {
		err := schema.Validate(content)
		if err == nil {
			return out
		}
		path, what, _ := strings.Cut(err.Error(), " ")
		paths := []string{path}
		if strings.HasPrefix(what, "additional propert") {
			paths = nil
			for _, name := range unwanted().FindAllStringSubmatch(what, -1) {
				paths = append(paths, strings.TrimPrefix(path+"."+name[1], "."))
			}
			what = "Compose has no such key"
		} else if what == "false schema" {
			what = "Compose has no such key"
		}
		for _, path := range paths {
			if !takeOut(content, path) {
				return out
			}
			key := keyAt(p.node, path)
			if key == nil {
				continue
			}
			value := valueAt(p.node, path) // a value with a variable may be valid once the variable is set
			if value == nil || !strings.Contains(value.Value, "$") {
				out = append(out, faultAt(p.file, key, path, what))
			}
		}
	}
	return out
}

// faultAt returns a finding at a key, in YAML's terms.
func faultAt(file string, key *yaml.Node, path, what string) Finding {
	if parent, empty := strings.CutSuffix(path, "."); empty {
		path, what = parent, "a key is empty"
	}
	what = strings.NewReplacer("a array", "a list", "array", "list").Replace(what)
	return Finding{File: file, Line: key.Line, Column: key.Column, Path: path, Text: what}
}

// takeOut removes the value at a path, and reports whether there was one. A key of the path may hold dots.
func takeOut(at any, path string) bool {
	switch at := at.(type) {
	case map[string]any:
		if _, there := at[path]; there {
			delete(at, path)
			return true
		}
		for key, value := range at {
			rest, below := strings.CutPrefix(path, key+".")
			if list, is := value.([]any); is && below {
				if n, err := strconv.Atoi(rest); err == nil && n < len(list) {
					at[key] = slices.Delete(slices.Clone(list), n, n+1)
					return true
				}
			}
			if below && takeOut(value, rest) {
				return true
			}
		}
	case []any:
		first, rest, _ := strings.Cut(path, ".")
		if n, err := strconv.Atoi(first); err == nil && n < len(at) {
			return takeOut(at[n], rest)
		}
	}
	return false
}

// keyAt returns the node of the key at a path, or of the list entry at it; nil if there is none.
func keyAt(n *yaml.Node, path string) *yaml.Node { key, _ := entryAt(n, path); return key }

func valueAt(n *yaml.Node, path string) *yaml.Node { _, value := entryAt(n, path); return value }

func entryAt(n *yaml.Node, path string) (key, value *yaml.Node) {
	n = resolved(n)
	if n == nil {
		return nil, nil
	}
	if n.Kind == yaml.SequenceNode {
		first, rest, below := strings.Cut(path, ".")
		at, err := strconv.Atoi(first)
		if err != nil || at >= len(n.Content) {
			return nil, nil
		}
		if !below {
			return n.Content[at], resolved(n.Content[at])
		}
		return entryAt(n.Content[at], rest)
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == path {
			return n.Content[i], resolved(n.Content[i+1])
		}
		if rest, below := strings.CutPrefix(path, n.Content[i].Value+"."); below {
			if key, value = entryAt(n.Content[i+1], rest); key != nil {
				return key, value
			}
		}
	}
	return nil, nil
}
