package manifest

import (
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/suggest"
)

// asset decodes an asset's body. In HCL the attributes themselves are the files, in the other languages the files are
// in `files`.
func (d *decoder) asset(n *node) map[string]any {
	entries := n
	if !d.native {
		for _, f := range n.fields {
			if f.key != "files" {
				d.lacking(f, "", suggest.Question(f.key, []string{"files"}), "field")
			}
		}
		found := n.find("files")
		if found == nil || found.value.kind != objectNode {
			d.fail(n.at, "files", "write files: { key: text }", "is required: a table of keys and files")
			return nil
		}
		entries = found.value
	}
	files := map[string]any{}
	for _, f := range entries.fields {
		path := joinKey("files", f.key)
		if _, twice := files[f.key]; twice {
			d.fail(f.at, path, "keep one of them", "is given twice")
			continue
		}
		d.places[path] = f.value.at
		if file := d.assetFile(f.value, path); file != nil {
			files[f.key] = file
		}
	}
	return map[string]any{"files": files}
}

// assetFile decodes one file: a text, file() or url(), or outside of HCL an object with _source.
func (d *decoder) assetFile(n *node, path string) any {
	switch {
	case n.block:
		d.fail(n.at, path, `write key = "text", key = file("…") or key = url("…")`, "is a block; an asset holds only files")
	case n.kind == callNode && n.text == "file":
		return d.localFile(n, path)
	case n.kind == callNode && n.text == "url":
		return d.urlFile(n, path)
	case n.kind == objectNode && !d.native:
		return d.sourced(n, path)
	case n.kind == objectNode, n.kind == listNode, n.kind == nullNode:
		d.fail(n.at, path, "", "is a file: a text, file(\"…\") or url(\"…\"), not %s", kindOf(n))
	default:
		return d.text(n, path)
	}
	return nil
}

// localFile reads file("path").
func (d *decoder) localFile(n *node, path string) any {
	if len(n.items) != 1 || n.items[0].kind != textNode {
		d.fail(n.at, path, `write file("path")`, "file() takes one path, in quotes")
		return nil
	}
	return map[string]any{"_source": api.AssetLocal, "path": n.items[0].text}
}

var urlOptions = []string{"timeout", "on_failure"}

// urlFile reads url("address") and url("address", { timeout = …, on_failure = … }).
func (d *decoder) urlFile(n *node, path string) any {
	if len(n.items) == 0 || len(n.items) > 2 || n.items[0].kind != textNode ||
		len(n.items) == 2 && n.items[1].kind != objectNode {
		d.fail(n.at, path, `write url("https://…", { timeout = "10s" })`,
			"url() takes an address in quotes, and after it options in { }")
		return nil
	}
	out := map[string]any{"_source": api.AssetURL, "url": n.items[0].text}
	if len(n.items) == 2 {
		d.fileFields(n.items[1], path, urlOptions, out)
	}
	return out
}

// fieldsOfSource lists the fields that a file of each source may have besides _source.
var fieldsOfSource = map[string][]string{
	api.AssetLocal: {"path", "content", "digest", "filename"},
	api.AssetURL:   {"url", "timeout", "on_failure"},
}

// sourced reads {_source: file|url, …}.
func (d *decoder) sourced(n *node, path string) any {
	source := ""
	if found := n.find("_source"); found != nil {
		source = found.value.text
	}
	allowed := fieldsOfSource[source]
	if allowed == nil {
		d.fail(n.at, path, "write a text, or an object with _source: file or _source: url", "has an unknown _source")
		return nil
	}
	out := map[string]any{"_source": source}
	d.fileFields(n, path, allowed, out)
	return out
}

// fileFields reads plain texts of an object into out.
func (d *decoder) fileFields(n *node, path string, allowed []string, out map[string]any) {
	for _, f := range n.fields {
		here := joinKey(path, f.key)
		switch {
		case f.key == "_source":
		case !slices.Contains(allowed, f.key):
			d.fail(f.at, here, suggest.Question(f.key, allowed), "there is no %q here; there are %s", f.key,
				strings.Join(allowed, ", "))
		case f.value.kind != nullNode:
			d.places[here] = f.value.at
			if text := d.text(f.value, here); text != nil {
				out[f.key] = text
			}
		}
	}
}

// keyOfFile returns the path of a field in an asset's file, for faults.
func keyOfFile(key, field string) string { return fmt.Sprintf("%s.%s", joinKey("files", key), field) }
