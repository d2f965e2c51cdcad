package instance

import (
	"fmt"
	"maps"
	"slices"
)

// differences returns the paths at which live lacks or contradicts what wanted has. What live has besides is others'
// concern. Lists count as one value, but for owner references: others may add theirs.
func differences(path string, wanted, live any) []string {
	switch wanted := wanted.(type) {
	case map[string]any:
		values, ok := live.(map[string]any)
		if !ok {
			if len(wanted) == 0 && live == nil {
				return nil
			}
			return []string{path}
		}
		var found []string
		for _, key := range slices.Sorted(maps.Keys(wanted)) {
			found = append(found, differences(path+"."+key, wanted[key], values[key])...)
		}
		return found
	case []any:
		values, _ := live.([]any)
		if path == ".metadata.ownerReferences" {
			return missing(path, wanted, values)
		}
		if len(wanted) != len(values) {
			return []string{path}
		}
		for i := range wanted {
			if len(differences(path, wanted[i], values[i])) > 0 {
				return []string{path}
			}
		}
		return nil
	}
	if !same(wanted, live) {
		return []string{path}
	}
	return nil
}

// same compares two values that are neither maps nor lists. The server may return 1.0 as 1.
func same(a, b any) bool {
	_, aText := a.(string)
	_, bText := b.(string)
	return aText == bText && (a == nil) == (b == nil) && fmt.Sprint(a) == fmt.Sprint(b)
}

// missing returns the path if one of wanted is not among live.
func missing(path string, wanted, live []any) []string {
	for _, one := range wanted {
		if !slices.ContainsFunc(live, func(other any) bool { return len(differences("", one, other)) == 0 }) {
			return []string{path}
		}
	}
	return nil
}
