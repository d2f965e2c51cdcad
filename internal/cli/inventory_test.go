package cli

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestDescribeInventory: the objects of an application, kind by kind, and how many are left out.
func TestDescribeInventory(t *testing.T) {
	var out bytes.Buffer
	describeInventory(plain{&out}, api.DeliveredStatus{})
	describeInventory(plain{&out}, api.DeliveredStatus{ObjectCount: 120, Objects: []api.ClusterResource{
		{Kind: "Service", Name: "web"}, {Kind: "Deployment", Name: "web"}, {Kind: "Service", Name: "db"},
	}})
	want := "  120 objects in the cluster, of which the first 3 are:\n    Deployment web\n    Service web, db\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
