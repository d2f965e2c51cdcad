package records

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"tend.dev/tend/api"
)

// TestTasksShareTexts: texts that tasks have in common are in memory once, as they were stored.
func TestTasksShareTexts(t *testing.T) {
	decode := func(id string) *api.Task {
		text := fmt.Sprintf(`{"id":%q,"kind":"deployment","scope":"prod","name":"a-long-name","ownerUID":"uid","slot":"s","release":"v1",`+
			`"class":"always","node":"worker-1","desired":"running"}`, id)
		decoded, err := Decode(TaskKey(id), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return decoded.(*api.Task)
	}
	a, b := decode("a"), decode("b")
	want := api.Task{
		ID: "a", Kind: api.KindDeployment, Scope: "prod", Name: "a-long-name", OwnerUID: "uid", Slot: "s",
		Release: "v1", Class: "always",
		Node: "worker-1", Desired: api.DesiredRunning,
	}
	if *a != want {
		t.Errorf("decoded %+v, want %+v", *a, want)
	}
	if b.ID != "b" || unsafe.StringData(a.Name) != unsafe.StringData(b.Name) ||
		unsafe.StringData(a.Node) != unsafe.StringData(b.Node) {
		t.Error("two tasks have a copy each of their workload's name, or of their node's")
	}
}

// TestSharedTextsAreForgotten: names come and go, but what is in use stays shared.
func TestSharedTextsAreForgotten(t *testing.T) {
	var all texts
	kept := all.one("used")
	for i := range 5 * manyTexts {
		all.one(fmt.Sprint(i))
		if i%(manyTexts/2) == 0 {
			if again := all.one(strings.Clone(kept)); again != "used" || unsafe.StringData(again) != unsafe.StringData(kept) {
				t.Fatalf("after %d others a text in use has another copy", i)
			}
		}
	}
	if n := len(all.newer) + len(all.older); n > 2*manyTexts {
		t.Errorf("%d texts are kept, want at most %d", n, 2*manyTexts)
	}
}
