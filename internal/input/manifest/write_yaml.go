package manifest

import (
	"bytes"
	"encoding/json"
	"strings"
)

// ForYAML returns a value, such as an object, with all texts and keys written so that YAML which holds them is read as
// the same: a variable in them is escaped. What a manifest leaves alone, such as ${ref.…}, stays as it is.
func ForYAML(value any) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	return escapedTree(tree), nil
}

func escapedTree(tree any) any {
	switch t := tree.(type) {
	case string:
		return escapeVariables(t)
	case []any:
		for i, item := range t {
			t[i] = escapedTree(item)
		}
	case map[string]any:
		out := make(map[string]any, len(t))
		for key, item := range t {
			out[escapeVariables(key)] = escapedTree(item)
		}
		return out
	}
	return tree
}

// escapeVariables is the inverse of what a YAML manifest's reader does with a text.
func escapeVariables(text string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return yamlVariable().ReplaceAllStringFunc(text, func(found string) string {
		if found == "$${" {
			return "$" + found
		}
		return "$${" + escapeVariables(strings.TrimPrefix(found, "${")) // a default may hold another variable
	})
}
