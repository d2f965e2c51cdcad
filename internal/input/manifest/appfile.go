package manifest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"unicode/utf8"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/core/suggest"
)

// appName is the file beside a Procfile, in .tend or .voodu, for settings that a Procfile can't hold: the scope, the
// image, and the hosts of its processes.
const appName = "app.json"

// appFile is the content of an app.json; the zero value is an empty one.
type appFile struct {
	src          *source
	scope, image string
	// routes are the ingresses by process.
	routes map[string]*node
	places map[string]span
}

var (
	appKeys   = []string{"scope", "image", "ingress"}
	routeKeys = map[string]string{"location": "locations"}
)

// variableIn matches ${NAME} or ${NAME:-default} anywhere in a text.
var variableIn = pattern.Lazy(`\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}\n]*)?\}`)

// readAppFile reads the app.json of a folder, if it has one. ${NAME} is replaced in its texts.
func readAppFile(folder string, find lookup, limit int64, f *faults) (appFile, error) {
	for _, hidden := range manifestFolders {
		path := filepath.Join(folder, hidden, appName)
		text, err := readFile(path, limit)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return appFile{}, err
		}
		return parseAppFile(newSource(path, filepath.Dir(path), text), find, f), nil
	}
	return appFile{}, nil
}

func parseAppFile(src *source, find lookup, f *faults) appFile {
	app := appFile{src: src, routes: map[string]*node{}, places: map[string]span{}}
	before := f.count()
	root := parseJSON(src, f)
	if root == nil || f.count() > before {
		return app
	}
	if root.kind != objectNode {
		f.at(src, root.at, "", "is an object with scope, image and ingress, not %s", root.kind)
		return app
	}
	replaceIn(root, src, find, f)
	for _, entry := range root.fields {
		text := entry.value.kind == textNode
		switch {
		case entry.key == "scope" && text:
			app.scope = entry.value.text
		case entry.key == "image" && text:
			app.image = entry.value.text
		case entry.key == "ingress" && entry.value.kind == objectNode:
			for _, route := range entry.value.fields {
				name := processName(route.key)
				app.routes[name], app.places[name] = route.value, route.at
			}
		default:
			f.at(src, entry.at, suggest.Question(entry.key, appKeys),
				"%q is not a field of app.json, or has the wrong type", entry.key)
		}
	}
	return app
}

// replaceIn replaces variables in every text below n.
func replaceIn(n *node, src *source, find lookup, f *faults) {
	if n.kind == textNode {
		n.text = variableIn().ReplaceAllStringFunc(n.text, func(found string) string {
			v, _ := bracedIn([]byte(found), closingIn([]byte(found)))
			value, _, ok := v.expand(find)
			switch {
			case !ok:
				addMissing(f, src, n.at, v.name)
			case !utf8.ValidString(value):
				addNoText(f, src, n.at, v.name)
			}
			return value
		})
	}
	for _, item := range n.items {
		replaceIn(item, src, find, f)
	}
	for _, entry := range n.fields {
		replaceIn(entry.value, src, find, f)
	}
}

// pinned returns the ports that app.json gives to processes.
func (a appFile) pinned() map[string]int {
	out := map[string]int{}
	for name, route := range a.routes {
		if port := route.find("port"); port != nil {
			if n, err := strconv.Atoi(port.value.text); err == nil {
				out[name] = n
			}
		}
	}
	return out
}

// ingresses returns an ingress for each route whose process exists.
func (a appFile) ingresses(src *source, scope string, processes []*draft, f *faults) []*draft {
	var out []*draft
	for _, name := range slices.Sorted(maps.Keys(a.routes)) {
		if !slices.ContainsFunc(processes, func(d *draft) bool { return d.object.Name == name }) {
			f.at(a.src, a.places[name], "", "the Procfile has no process %q", name)
			continue
		}
		d := &draft{src: a.src, at: a.places[name], places: map[string]span{},
			object: api.Object{Kind: api.KindIngress, Scope: scope, Name: name}}
		if d.decodeSpec(plainRoute(a.routes[name]), false, f) {
			out = append(out, d)
		}
	}
	return out
}

// plainRoute converts a route to the fields of an ingress: location may be one or several, and strip_prefix becomes
// strip.
func plainRoute(n *node) *node {
	if n.kind != objectNode {
		return n
	}
	out := *n
	out.fields = slices.Clone(n.fields)
	for i, entry := range out.fields {
		if plain, renamed := routeKeys[entry.key]; renamed {
			out.fields[i].key = plain
			if entry.value.kind == objectNode {
				out.fields[i].value = &node{kind: listNode, at: entry.value.at, items: []*node{entry.value}}
			}
		}
		if out.fields[i].key != "locations" {
			continue
		}
		for _, location := range out.fields[i].value.items {
			for j := range location.fields {
				if location.fields[j].key == "strip_prefix" {
					location.fields[j].key = "strip"
				}
			}
		}
	}
	return &out
}

// hasManifest reports whether a folder holds a manifest directly inside.
func hasManifest(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err == nil && slices.ContainsFunc(entries,
		func(e fs.DirEntry) bool { return !e.IsDir() && isManifest(folder, e.Name()) })
}

// isManifest reports whether a file of a folder is to be read as a manifest. A Procfile and its app.json are read
// separately.
func isManifest(folder, name string) bool {
	format := formatOf(name)
	if name == appName && slices.Contains(manifestFolders, filepath.Base(folder)) {
		return false
	}
	return format != "" && format != formatProcfile
}
