package manifest

import (
	"encoding/json"
	"fmt"
)

// free decodes a value of any shape, such as the body of a webhook: texts, numbers as they are written, booleans, null,
// lists and objects.
func (d *decoder) free(n *node, path string) any {
	switch n.kind {
	case nullNode:
		return nil
	case boolNode:
		return n.text == "true" || n.text == "True" || n.text == "TRUE"
	case numberNode:
		if json.Valid([]byte(n.text)) {
			return json.Number(n.text)
		}
		return n.text
	case listNode:
		out := make([]any, 0, len(n.items))
		for i, item := range n.items {
			out = append(out, d.free(item, fmt.Sprintf("%s[%d]", path, i)))
		}
		return out
	case objectNode:
		out := map[string]any{}
		for _, f := range n.fields {
			out[f.key] = d.free(f.value, joinKey(path, f.key))
		}
		return out
	case callNode:
		d.fail(n.at, path, "", "%s() is valid only in the files of an asset", n.text)
		return nil
	}
	return n.text
}
