package main

import (
	"regexp"
	"strconv"
	"strings"
)

// streamSuffix ends the name of the method that reads a stream, if another method reads the answer as a whole.
const streamSuffix = "Stream"

var (
	identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)
	comment    = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	word       = regexp.MustCompile(`[A-Za-z_$][A-Za-z0-9_$]*`)
)

func isIdentifier(name string) bool { return identifier.MatchString(name) }

// runtimeNames returns the identifiers in runtime.ts. No schema may have one of these names: it would shadow the
// runtime's, such as Error.
func runtimeNames() []string { return word.FindAllString(comment.ReplaceAllString(runtime, ""), -1) }

// methodName returns, for example, getV1PodsPodLogs for get-v1-pods-pod-logs.
func (o operation) methodName() string {
	parts := strings.FieldsFunc(o.id, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
	}
	return strings.Join(parts, "")
}

// parametersName returns the name of the type of the operation's parameters.
func (o operation) parametersName() string {
	name := o.methodName()
	return strings.ToUpper(name[:1]) + name[1:] + "Parameters"
}

// key returns the declaration of a property's name, in quotes if needed.
func key(name string) string {
	if isIdentifier(name) {
		return name
	}
	return strconv.Quote(name)
}

// access returns the expression for a property of a value.
func access(value, name string) string {
	if isIdentifier(name) {
		return value + "." + name
	}
	return value + "[" + strconv.Quote(name) + "]"
}
