package placement

import (
	"math"
	"slices"

	"tend.dev/tend/internal/core/ports"
)

// What a task that reserves nothing is taken to use, for the comparison of nodes only.
const (
	guessedCPUs   = 0.1
	guessedMemory = 200 << 20
)

// site is a node with what is on it.
type site struct {
	Node
	workloads map[string]int // live tasks, by workload
	held      map[int][]hold // by port number
	// What live tasks reserve, and those that still stop: bytes, and billionths of cores, whose sums are exact in any
	// order.
	reservedMemory int64
	reservedNanos  int64
	// load is the sum of the shares that live tasks are taken to use, in millionths of the node's cores and memory.
	load int64
}

type hold struct {
	ports.Port
	by Task
}

func newSite(n Node) *site {
	return &site{Node: n, workloads: map[string]int{}, held: map[int][]hold{}}
}

// take puts a task on the node. A task that leaves holds what it has until it stopped, but nothing is spread around it.
func (s *site) take(t Task) {
	s.count(t, 1)
	for _, p := range t.Ports {
		s.held[p.Number] = append(s.held[p.Number], hold{Port: p, by: t})
	}
}

// untake takes back the last take of the task.
func (s *site) untake(t Task) {
	s.count(t, -1)
	for _, p := range slices.Backward(t.Ports) {
		held := s.held[p.Number]
		for i, h := range slices.Backward(held) {
			if h.by.ID == t.ID {
				s.held[p.Number] = slices.Delete(held, i, i+1)
				break
			}
		}
	}
}

func (s *site) count(t Task, sign int) {
	if !t.Leaving {
		if s.workloads[t.Workload] += sign; s.workloads[t.Workload] == 0 {
			delete(s.workloads, t.Workload)
		}
		s.load += int64(sign) * s.share(t)
	}
	s.reservedMemory += int64(sign) * t.ReservedMemory
	s.reservedNanos += int64(sign) * int64(math.Round(t.ReservedCPUs*nanos))
}

const nanos = 1e9

// share is the part of the node that a task is taken to use. A node of unknown size has one core.
func (s *site) share(t Task) int64 {
	const whole = 1e6
	cores := s.CPUs
	if cores <= 0 {
		cores = 1
	}
	share := max(guessedCPUs, t.ReservedCPUs) / cores * whole
	if s.MemoryBytes > 0 {
		share += float64(max(guessedMemory, t.ReservedMemory)) / float64(s.MemoryBytes) * whole
	}
	return int64(share)
}

// clash returns the holder of a port that a task needs on the node, apart from ignored tasks; nil if there is none. Of
// several it is the first by id.
func (s *site) clash(t Task, ignored [2]string) *hold {
	var first *hold
	for _, p := range t.Ports {
		for _, held := range s.held[p.Number] {
			if held.Clashes(p) && !slices.Contains(ignored[:], held.by.ID) && (first == nil || held.by.ID < first.by.ID) {
				first = &held
			}
		}
		if first != nil {
			break
		}
	}
	return first
}
