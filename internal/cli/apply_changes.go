package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// changesText returns the changes of an object on one line: image web:1 → web:2, env.A changed, ports removed. Values
// of variables, files and credentials stay out of it, since the line ends up in the logs of CI.
func changesText(object api.ObjectResult) string {
	const shown = 8
	var parts []string
	for i, change := range object.Changes {
		path, whole := wholeList(change, object.Changes[:i])
		switch {
		case whole:
			continue // named with its first element
		case change.New == nil:
			parts = append(parts, path+" removed")
		case isPrivate(object.Kind, change.Path) && change.Old == nil:
			parts = append(parts, change.Path+" added")
		case isPrivate(object.Kind, change.Path):
			parts = append(parts, change.Path+" changed")
		case change.Old == nil:
			parts = append(parts, fmt.Sprintf("%s added (%s)", change.Path, plainValue(change.New)))
		default:
			parts = append(parts, change.Path+" "+changedValue(change.Old, change.New))
		}
	}
	if more := len(parts) - shown; more > 0 {
		parts = append(parts[:shown], fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// wholeList returns the path to print for a change. If a whole list was removed, its first element gets the path of the
// list; for the further elements named reports that the list was named already.
func wholeList(change api.FieldChange, before []api.FieldChange) (path string, named bool) {
	cut := strings.LastIndexByte(change.Path, '[')
	if cut < 0 || change.New != nil {
		return change.Path, false
	}
	list := change.Path[:cut]
	gone := func(c api.FieldChange) bool { return c.New == nil && c.Path == list+"[0]" }
	if gone(change) {
		return list, false
	}
	return change.Path, slices.ContainsFunc(before, gone)
}

// privateFields lists the fields whose values only the containers may see. Add each new field of that sort here: the
// line of changes prints the values of all others.
var privateFields = []string{"env", "files", "assets", "secret_files", "headers", "args", "command", "entrypoint",
	"docker_options", "on_deploy", "on_probe"}

func isPrivate(kind api.Kind, path string) bool {
	if kind.Info().Private {
		return true
	}
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' })
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(privateFields, name) })
}

// shownValue is the most characters of a value that a line has.
const shownValue = 60

// plainValue returns a JSON value as people write it, short enough for a line.
func plainValue(value json.RawMessage) string {
	return printable(cut(textOf(value), shownValue), "")
}

// changedValue returns `OLD → NEW`, short enough for a line; what differs is always part of it.
func changedValue(before, after json.RawMessage) string {
	return printable(longestForm(textOf(before), textOf(after), 2*shownValue+len(" → ")), "")
}

func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return text
}
