package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/core/ports"
)

// A ledger refuses what Plan would, after the tasks that wait already, and answers the same again.
func TestSurvey(t *testing.T) {
	port := []ports.Port{{Number: 80, Protocol: "tcp"}}
	nodes := []Node{{ID: "n1", Alive: true, Ready: true}, {ID: "n2", Alive: true, Ready: true}, {ID: "n3", Ready: true}}
	waits := Task{ID: "w", Workload: "w", CreatedAt: time.Unix(2, 0), Demand: &Demand{Ports: port}}
	more := []Task{{ID: "a", Workload: "v", CreatedAt: time.Unix(3, 0), Demand: &Demand{Ports: port}},
		{ID: "b", Workload: "v", CreatedAt: time.Unix(4, 0), Demand: &Demand{Ports: port}}}
	_, want := planOf(append([]Task{waits}, more...), nodes, nil)
	if len(want) != 1 || want[0].Task != "b" {
		t.Fatalf("%+v; want b refused alone", want)
	}
	s := survey([]Task{waits}, nodes, nil)
	for range 3 {
		if diff := cmp.Diff(want, s.Refuse(more)); diff != "" {
			t.Fatal(diff)
		}
	}
}
