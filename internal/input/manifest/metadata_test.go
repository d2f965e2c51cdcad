package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

const anOperation = `
operation "prod" "nightly" {
  cluster = "east"
  labels  = { team = "a" }
  annotations = {
    "ops.vworkspace.io/backup"             = "velero"
    "ops.vworkspace.io/maintenance-window" = "{schedule: \"0 2 * * 0\", duration: 2h}"
    count                                  = 3
  }
  target_ref { name = "web" }
  type   = "Backup"
  engine = "velero"
}
`

// TestMetadataInHCL: kinds that are delivered to a cluster have labels and annotations in their blocks, which survive
// being written and read.
func TestMetadataInHCL(t *testing.T) {
	want := api.Metadata{Labels: map[string]string{"team": "a"}, Annotations: map[string]string{
		"ops.vworkspace.io/backup":             "velero",
		"ops.vworkspace.io/maintenance-window": `{schedule: "0 2 * * 0", duration: 2h}`, "count": "3",
	}}
	object := reload(t, []byte(anOperation))[0]
	if diff := cmp.Diff(want, object.Metadata); diff != "" {
		t.Error(diff)
	}
	text, err := Write([]Section{{Object: object}})
	if err != nil {
		t.Fatal(err)
	}
	again := reload(t, text)[0]
	if diff := cmp.Diff(object.Metadata, again.Metadata); diff != "" || string(again.Spec) != string(object.Spec) {
		t.Errorf("%s: %s", text, diff)
	}
}

// TestMetadataFaults: faults in a block's labels and annotations are reported at their place.
func TestMetadataFaults(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, want string }{
		"a block": {`labels  = { team = "a" }`, `labels { team = "a" }`, "write labels = { … }"},
		"a list": {`labels  = { team = "a" }`, `labels = ["a"]`,
			"metadata.labels is a table of keys and values, not a list"},
		"a value": {`{ team = "a" }`, `{ team = ["a"] }`, `metadata.labels: "team" is text, not a list`},
		"other kinds": {`operation "prod" "nightly" {`, "deployment \"prod\" \"nightly\" {\n  image = \"a\"",
			`no field "annotations"`},
	} {
		text := strings.Replace(anOperation, tc.from, tc.to, 1)
		_, err := Load(Options{Files: []string{"-"}, Stdin: strings.NewReader(text), Format: "hcl", Lookup: none})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
