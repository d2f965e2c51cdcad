package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tend.dev/tend/api/pattern"
)

// ResolvedFields are the fields of a spec whose references a release holds resolved: ${ref.…} in what containers are
// made from.
var ResolvedFields = []string{"env", "labels", "command", "entrypoint", "extra_hosts", "docker_options"}

// ReferenceFields are the fields of a spec whose texts may hold references of a space. In any other field a reference
// is refused, because it would never be replaced.
var ReferenceFields = map[string][]string{
	SpaceRef: slices.Concat(ResolvedFields, hookFields),
	SpaceAsset: {"env", "labels", "command", "entrypoint", "volumes", "docker_options", "inits", "release",
		"post_deploy", "probes",
		"on_deploy", "on_probe"},
	SpaceConfig: slices.Concat([]string{"env"}, hookFields, sinkFields),
}

// hookFields are the blocks of webhooks. What stands there is looked up when the call is made.
var hookFields = []string{"on_deploy", "on_probe"}

// sinkFields are the targets of sinks with secrets. What stands there is looked up when something is sent.
var sinkFields = []string{"http", "mail", "slack", "ntfy", "shoutrrr"}

// block is a pattern of the places in a block where a reference may stand, and the same in words.
type block struct {
	at    func() *regexp.Regexp
	words string
}

var (
	hookFile = block{pattern.Lazy(`^on_\w+\.\w+\[\d+\]\.file$`), "the file of a webhook"}
	hookText = block{pattern.Lazy(`^on_\w+\.\w+\[\d+\]\.(url$|(headers|body)[.[])`),
		"the url, headers and body of a webhook"}
	commands = "commands and docker_options"

	sinkWords = "the url, headers, secrets, user, password, topic and token of a sink"
	sinkText  = block{pattern.Lazy(`\.(url|user|password|topic|token)$|^http\.(headers[.[]|secrets\[)`), sinkWords}
)

// withinBlock lists the places in a block where a reference of a space may stand.
var withinBlock = map[string]map[string]block{
	SpaceAsset: {
		"inits":     {pattern.Lazy(`^inits\[\d+\]\.(command|docker_options)\[`), commands},
		"probes":    {pattern.Lazy(`^probes\.\w+\.exec\.command\[`), commands},
		"on_deploy": hookFile, "on_probe": hookFile,
	},
	SpaceRef: {"on_deploy": hookText, "on_probe": hookText},
	SpaceConfig: {
		"on_deploy": hookText, "on_probe": hookText,
		"http": sinkText, "mail": sinkText, "slack": sinkText, "ntfy": sinkText, "shoutrrr": sinkText,
	},
}

func hasReference(text string) bool { return len(References(text)) > 0 }

// references checks every reference of a spec, wherever it stands. An asset's texts are its files, which are literal,
// and what is delivered to a cluster is for its programs to read.
func (c *checker) references(o Object) {
	if o.Kind == KindAsset || o.Kind.Delivered() || !bytes.Contains(o.Spec, []byte("${")) {
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
		found := References(v)
		for _, r := range found {
			c.reference(consumer, path, r)
		}
		c.mixed(path, found)
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

// mixed refuses ${config.…} beside ${asset.…} in one variable: a node replaces the latter when the value of the former
// is in its place already, and would take that for a reference too.
func (c *checker) mixed(path string, found []Reference) {
	config := slices.ContainsFunc(found, func(r Reference) bool { return r.Space == SpaceConfig && !r.Escaped })
	asset := slices.ContainsFunc(found, func(r Reference) bool { return r.Space == SpaceAsset })
	if config && asset && strings.HasPrefix(path, "env") {
		c.add(path, "${config.…} and ${asset.…} can't stand in one variable; make two of it")
	}
}

func (c *checker) reference(consumer Ref, path string, r Reference) {
	field := path
	if end := strings.IndexAny(path, ".["); end >= 0 {
		field = path[:end]
	}
	within, inBlock := withinBlock[r.Space][field]
	switch fields := ReferenceFields[r.Space]; {
	case len(fields) == 0:
		c.add(path, "%s is not supported yet; leave it out", r.Text)
	case r.Space == SpaceConfig && !slices.Contains(fields, field): // the program's own
	case !slices.Contains(fields, field):
		c.add(path, "%s is not replaced here; ${%s.…} may stand in %s", r.Text, r.Space, strings.Join(fields, ", "))
	case r.Escaped:
	case r.Check() != nil:
		c.addError(path, r.Check())
	case inBlock && !within.at().MatchString(path):
		c.add(path, "%s is not replaced here; ${%s.…} may stand in %s", r.Text, r.Space, within.words)
	case r.Space == SpaceRef:
		c.addError(path, r.CheckFact(consumer))
	case consumer.Kind == KindSink && r.Space == SpaceConfig && len(r.Path) < 3:
		c.add(path, "%s: a sink has no scope: write ${config.SCOPE.NAME.KEY}", r.Text)
	}
}
