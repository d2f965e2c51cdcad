package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// node is a value of the document and its place. A method that expects another kind of value reports a fault, and
// returns the zero value, so that one run reports all faults.
type node struct {
	value  any
	at     string // a JSON pointer in a URI fragment
	faults *faults
}

// faults are the parts of a document that the generator doesn't understand.
type faults struct{ list []error }

func (f *faults) err() error { return errors.Join(f.list...) }

// readNode returns the root of a JSON document.
func readNode(text []byte) (node, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var value any
	if err := decoder.Decode(&value); err != nil {
		return node{}, fmt.Errorf("the document is not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return node{}, errors.New("something follows the document")
	}
	return node{value: value, at: "#", faults: &faults{}}, nil
}

// refuse reports that the generator doesn't understand the node.
func (n node) refuse(format string, args ...any) {
	n.faults.list = append(n.faults.list, fmt.Errorf("%s: %s", n.at, fmt.Sprintf(format, args...)))
}

// child returns the node below key. Its value is nil if it is absent.
func (n node) child(key string, value any) node {
	return node{value: value, at: n.at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key), faults: n.faults}
}

// object returns the node's own keys and values.
func (n node) object() map[string]any {
	object, ok := n.value.(map[string]any)
	if !ok {
		n.refuse("want an object")
	}
	return object
}

// has reports whether the node is an object with the key.
func (n node) has(key string) bool {
	object, _ := n.value.(map[string]any)
	_, ok := object[key]
	return ok
}

// get returns the node at a key of an object.
func (n node) get(key string) node {
	object, _ := n.value.(map[string]any)
	return n.child(key, object[key])
}

// need returns the node at a key of an object, which must exist.
func (n node) need(key string) node {
	if !n.has(key) {
		n.refuse("%s is missing", key)
	}
	return n.get(key)
}

// only refuses all keys except the understood ones.
func (n node) only(understood ...string) {
	for _, key := range slices.Sorted(maps.Keys(n.object())) {
		if !slices.Contains(understood, key) {
			n.get(key).refuse("%q is not understood here", key)
		}
	}
}

// members returns the entries of an object, in the order of the keys.
func (n node) members() []member {
	object := n.object()
	var out []member
	for _, key := range slices.Sorted(maps.Keys(object)) {
		out = append(out, member{key, n.child(key, object[key])})
	}
	return out
}

type member struct {
	key string
	node
}

// items returns the values of a list; none if the value is absent.
func (n node) items() []node {
	if n.value == nil {
		return nil
	}
	list, ok := n.value.([]any)
	if !ok {
		n.refuse("want a list")
	}
	var out []node
	for i, value := range list {
		out = append(out, n.child(strconv.Itoa(i), value))
	}
	return out
}

// text returns a string; empty if the value is absent.
func (n node) text() string {
	if n.value == nil {
		return ""
	}
	text, ok := n.value.(string)
	if !ok {
		n.refuse("want a string")
	}
	return text
}

// truth returns a boolean; false if the value is absent.
func (n node) truth() bool {
	if n.value == nil {
		return false
	}
	truth, ok := n.value.(bool)
	if !ok {
		n.refuse("want true or false")
	}
	return truth
}
