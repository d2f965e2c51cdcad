package apply

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type object = map[string]any

// TestDifferences: declared values that are missing or different are found. Values that others added are not.
func TestDifferences(t *testing.T) {
	for name, tc := range map[string]struct {
		wanted, live object
		want         string
	}{
		"same":           {object{"a": object{"b": int64(1)}}, object{"a": object{"b": 1.0, "c": "x"}}, "[]"},
		"changed":        {object{"a": object{"b": "1"}}, object{"a": object{"b": "2"}}, "[.a.b 1 2]"},
		"gone":           {object{"a": object{"b": "1"}}, object{}, "[.a map[b:1] <nil>]"},
		"text, number":   {object{"a": "1"}, object{"a": int64(1)}, "[.a 1 1]"},
		"a list":         {object{"a": []any{"x"}}, object{"a": []any{"x", "y"}}, "[.a [x] [x y]]"},
		"an empty map":   {object{"a": object{}}, object{}, "[]"},
		"others' owners": {object{"metadata": object{"ownerReferences": []any{object{"uid": "1"}}}}, object{"metadata": object{"ownerReferences": []any{object{"uid": "2"}, object{"uid": "1", "x": "y"}}}}, "[]"},
		"no owner":       {object{"metadata": object{"ownerReferences": []any{object{"uid": "1"}}}}, object{"metadata": object{}}, "[.metadata.ownerReferences [map[uid:1]] <nil>]"},
	} {
		got := []string{}
		for _, d := range Differences(tc.wanted, tc.live) {
			got = append(got, fmt.Sprint(d.Field(), " ", d.Wanted, " ", d.Live))
		}
		if fmt.Sprint(got) != tc.want {
			t.Errorf("%s: %v, want %s", name, got, tc.want)
		}
	}
}

// TestManager: the last manager of a field, of a parent held as one value, or of something below it.
func TestManager(t *testing.T) {
	at := func(minute int) *metav1.Time {
		stored := metav1.NewTime(time.Date(2026, 11, 28, 12, minute, 0, 0, time.UTC))
		return &stored
	}
	entry := func(manager string, minute int, set, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Time: at(minute), FieldsV1: &metav1.FieldsV1{Raw: []byte(set)}, Subresource: subresource,
		}
	}
	fields := []metav1.ManagedFieldsEntry{
		entry("operator", 1, `{"f:spec":{"f:name":{},"f:list":{}}}`, ""),
		entry("kubectl-patch", 2, `{"f:spec":{"f:chart":{".":{},"f:version":{}},"f:name":{}}}`, ""),
		entry("status", 3, `{"f:spec":{"f:name":{}}}`, "status"),
	}
	for path, want := range map[string]string{"version": "kubectl-patch", "chart": "kubectl-patch", "name": "kubectl-patch", "list": "operator", "other": ""} {
		full := []string{"spec", path}
		if path == "version" {
			full = []string{"spec", "chart", "version"}
		}
		if got, _ := Manager(fields, full); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got, _ := Manager(fields, []string{"spec", "list", "0"}); got != "operator" {
		t.Errorf("in a list: %q", got)
	}
}
