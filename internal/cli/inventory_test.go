package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// inCluster returns an object of a cluster with its health.
func inCluster(kind, name string, health api.ClusterHealth, message string) api.ClusterObject {
	named := api.ClusterResource{Kind: kind, Name: name}
	return api.ClusterObject{ClusterResource: named, Health: health, Message: message}
}

// TestDescribeInventory: the objects of an application, what is wrong first, and how many are left out. Without a
// health there are names alone.
func TestDescribeInventory(t *testing.T) {
	var out bytes.Buffer
	describeInventory(plain{&out}, api.DeliveredStatus{})
	describeInventory(plain{&out}, api.DeliveredStatus{ObjectCount: 120, Objects: []api.ClusterObject{
		inCluster("Service", "web", "", ""), inCluster("Deployment", "web", "", ""), inCluster("Service", "db", "", ""),
	}})
	degraded := api.DeliveredStatus{ObjectCount: 6, Health: api.ClusterDegraded, Objects: []api.ClusterObject{
		inCluster("ConfigMap", "a", api.ClusterUnknown, "no right"), inCluster("Service", "web", api.ClusterHealthy, ""),
		inCluster("Deployment", "web", api.ClusterDegraded, "Ready: 0/1"), inCluster("Service", "db", api.ClusterHealthy, ""),
		inCluster("ConfigMap", "b", api.ClusterUnknown, "no right"), inCluster("Deployment", "db", api.ClusterHealthy, ""),
	}}
	describeInventory(plain{&out}, degraded)
	want := "  120 objects in the cluster, of which the first 3 are:\n    Deployment web\n    Service web, db\n" +
		"  6 objects in the cluster (Degraded):\n    Degraded: Deployment web: Ready: 0/1\n" +
		"    Unknown: ConfigMap a, b: no right\n    Healthy: Deployment db\n    Healthy: Service web, db\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestDescribedTreeFits: at 80 columns a tree with long messages is broken between words.
func TestDescribedTreeFits(t *testing.T) {
	var out bytes.Buffer
	degraded := api.DeliveredStatus{ObjectCount: 1, Health: api.ClusterDegraded, Objects: []api.ClusterObject{
		inCluster("Deployment", "web", api.ClusterDegraded, "Ready: 0/1. Pod web-7d9f6c5b8d-x2k4q: container app: "+
			"the image registry.example.org/team/app:1 can't be pulled"),
	}}
	describeInventory(plain{&out}, degraded)
	for line := range strings.SplitSeq(wrapped(out.String(), 80), "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

// TestHealthInGet: what is wrong in the cluster is the state of an object that is in order otherwise.
func TestHealthInGet(t *testing.T) {
	ready := api.Condition{Type: api.ConditionReady, Status: api.ConditionTrue, Reason: "HelmReleaseReady", Message: "installed"}
	failed := api.Condition{Type: api.ConditionDegraded, Status: api.ConditionTrue, Reason: "HelmReleaseFailed", Message: "no chart"}
	for name, tc := range map[string]struct {
		reason             string
		health             api.ClusterHealth
		conditions         []api.Condition
		wantState, wantMsg string
	}{
		"healthy":     {"nothing to add", api.ClusterHealthy, []api.Condition{ready}, "HelmReleaseReady", "installed"},
		"not known":   {"nothing to say", "", []api.Condition{ready}, "HelmReleaseReady", "installed"},
		"unreadable":  {"a missing right fails nothing", api.ClusterUnknown, []api.Condition{ready}, "HelmReleaseReady", "installed"},
		"progressing": {"the message says what is waited for", api.ClusterProgressing, []api.Condition{ready}, "HelmReleaseReady", "Deployment web: Ready: 0/1"},
		"degraded":    {"it runs no more", api.ClusterDegraded, []api.Condition{ready}, "Degraded", "Deployment web: Ready: 0/1"},
		"both":        {"the delivery comes first", api.ClusterDegraded, []api.Condition{ready, failed}, "HelmReleaseFailed", "no chart"},
	} {
		t.Run(name, func(t *testing.T) {
			status, err := json.Marshal(api.DeliveredStatus{Conditions: tc.conditions, Health: tc.health, ObjectCount: 1,
				Objects: []api.ClusterObject{inCluster("Deployment", "web", tc.health, "Ready: 0/1")}})
			if err != nil {
				t.Fatal(err)
			}
			cells, wide := deliveredTable.row(api.Object{Kind: api.KindApplicationInstance, Status: status}, time.Time{})
			if cells[2] != tc.wantState || wide[2] != tc.wantMsg {
				t.Errorf("%s: %q, %q", tc.reason, cells[2], wide[2])
			}
		})
	}
}
