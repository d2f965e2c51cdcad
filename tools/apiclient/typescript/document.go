package main

import (
	"slices"
	"strings"
)

// parse returns the model of a document, or errors for all parts that the generator doesn't understand.
func parse(text []byte) (*document, error) {
	root, err := readNode(text)
	if err != nil {
		return nil, err
	}
	root.only("openapi", "info", "paths", "components", "security")
	if version := root.need("openapi"); !strings.HasPrefix(version.text(), "3.1.") {
		version.refuse("want a document of OpenAPI 3.1, not %q", version.text())
	}
	info := root.need("info")
	doc := &document{title: info.need("title").text(), version: info.need("version").text()}
	components := root.need("components")
	components.only("schemas", "securitySchemes")
	parseSecurity(root.get("security"), components.get("securitySchemes"))
	schemas := components.need("schemas")
	for _, s := range schemas.members() {
		doc.schemas = append(doc.schemas, schema{s.key, s.get("description").text(), parseType(s.node)})
	}
	var p parser
	paths := root.need("paths")
	doc.operations = p.operations(paths)
	if doc.problem = p.problem; doc.problem == nil {
		paths.refuse("no operation describes its errors as %s", mediaProblem)
	}
	checkReferences(root, schemas)
	checkNames(doc, schemas, paths)
	return doc, root.faults.err()
}

// parseSecurity checks that every operation accepts a bearer token, since the client sends one.
func parseSecurity(required, schemes node) {
	for _, alternative := range required.items() {
		for _, scheme := range alternative.members() {
			described := schemes.need(scheme.key)
			described.only("type", "scheme", "description")
			if described.get("type").text() != "http" || described.get("scheme").text() != "bearer" {
				described.refuse("only a bearer token is understood")
			}
		}
	}
}

// checkReferences refuses references to schemas that the document doesn't have.
func checkReferences(n, schemas node) {
	switch value := n.value.(type) {
	case map[string]any:
		for _, member := range n.members() {
			name, ok := strings.CutPrefix(textOf(member.value), schemaPrefix)
			if member.key == "$ref" && ok && !schemas.has(name) {
				member.refuse("there is no schema %s", name)
			}
			checkReferences(member.node, schemas)
		}
	case []any:
		for i := range value {
			checkReferences(n.items()[i], schemas)
		}
	}
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}

// checkNames refuses a document whose names would clash in the client, or aren't names in TypeScript.
func checkNames(doc *document, schemas, paths node) {
	taken := runtimeNames()
	claim := func(n node, name string) {
		switch {
		case !isIdentifier(name):
			n.refuse("%q is not a name in TypeScript", name)
		case slices.Contains(taken, name):
			n.refuse("the name %s is taken", name)
		}
		taken = append(taken, name)
	}
	for _, s := range doc.schemas {
		claim(schemas.get(s.name), s.name)
	}
	for _, o := range doc.operations {
		at := paths.get(o.path).get(strings.ToLower(o.method)).get("operationId")
		claim(at, o.methodName())
		if o.whole != nil && o.stream != nil {
			claim(at, o.methodName()+streamSuffix)
		}
		if len(o.parameters()) > 0 {
			claim(at, o.parametersName())
		}
	}
}
