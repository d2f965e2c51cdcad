package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ReferenceFields are the fields of a spec whose texts may hold references of a space. In any other field a reference is
// refused, for nobody would replace it.
var ReferenceFields = map[string][]string{
	SpaceRef: {"env", "labels", "command", "entrypoint", "extra_hosts", "docker_options"},
	SpaceAsset: {"env", "labels", "command", "entrypoint", "volumes", "docker_options", "inits", "release", "post_deploy", "probes",
		"on_deploy", "on_probe"},
}

// withinBlock says where in a block a reference to an asset may stand.
var withinBlock = map[string]*regexp.Regexp{
	"inits":     regexp.MustCompile(`^inits\[\d+\]\.(command|docker_options)\[`),
	"probes":    regexp.MustCompile(`^probes\.\w+\.exec\.command\[`),
	"on_deploy": regexp.MustCompile(`^on_deploy\.\w+\[\d+\]\.file$`),
	"on_probe":  regexp.MustCompile(`^on_probe\.\w+\[\d+\]\.file$`),
}

func hasReference(text string) bool { return len(References(text)) > 0 }

// references checks every reference of a spec, wherever it stands. An asset's texts are its files: they mean themselves.
func (c *checker) references(o Object) {
	if o.Kind == KindAsset || !bytes.Contains(o.Spec, []byte("${")) {
		return
	}
	var value any
	if json.Unmarshal(o.Spec, &value) == nil {
		c.walkReferences(o.Ref(), "", value)
	}
}

func (c *checker) walkReferences(consumer Ref, path string, value any) {
	switch v := value.(type) {
	case string:
		for _, r := range References(v) {
			c.reference(consumer, path, r)
		}
	case []any:
		for i, item := range v {
			c.walkReferences(consumer, index(path, i), item)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			here := name
			if path != "" {
				here = key(path, name)
			}
			c.walkReferences(consumer, here, v[name])
		}
	}
}

func (c *checker) reference(consumer Ref, path string, r Reference) {
	field := path
	if end := strings.IndexAny(path, ".["); end >= 0 {
		field = path[:end]
	}
	switch fields := ReferenceFields[r.Space]; {
	case len(fields) == 0:
		c.add(path, "%s is not supported yet; leave it out", r.Text)
	case !slices.Contains(fields, field):
		c.add(path, "%s is not replaced here; ${%s.…} may stand in %s", r.Text, r.Space, strings.Join(fields, ", "))
	case r.Escaped:
	case r.Check() != nil:
		c.addError(path, r.Check())
	case withinBlock[field] != nil && !withinBlock[field].MatchString(path):
		c.add(path, "%s is not replaced here; in a block it may stand in commands, docker_options, and the file of a webhook", r.Text)
	case r.Space == SpaceRef:
		c.addError(path, r.CheckFact(consumer))
	}
}
