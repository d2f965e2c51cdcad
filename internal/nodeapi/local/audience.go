package local

import (
	"slices"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/view"
)

// audience knows whom the changes of the newest commit concern: worked out once, asked by every node that follows.
type audience struct {
	mu       sync.Mutex
	revision int64
	of       map[string]interest // by key
	// served are the workloads that ingresses name, as scope/name; nil if they are to be read again. version counts how often.
	served  map[string]bool
	version int
}

// interest says whom a change concerns.
type interest struct {
	all   bool
	nodes []string
}

// interest returns whom a change concerns.
func (s *Service) interest(change view.Change) interest {
	a := &s.audience
	a.mu.Lock()
	known, ok := a.of[change.Key]
	newest := change.Revision == a.revision
	a.mu.Unlock()
	if ok && newest {
		return known
	}
	s.renewServed(change)
	found := s.interestOf(change)
	a.mu.Lock()
	defer a.mu.Unlock()
	if change.Revision > a.revision {
		a.revision, a.of = change.Revision, map[string]interest{}
	}
	if change.Revision == a.revision {
		a.of[change.Key] = found
	}
	return found
}

func (s *Service) interestOf(change view.Change) (out interest) {
	switch record := change.New.(type) { // a node's own reports: it waits for their revision
	case *api.NodeStatus:
		return interest{nodes: []string{record.ID}}
	case *api.IngressNodeStatus:
		return interest{nodes: []string{record.Node}}
	case *api.NetworkNodeStatus:
		out.nodes = append(out.nodes, record.Node)
	}
	for _, e := range s.effects(change) {
		out.all = out.all || e.all || s.routes(e)
		if e.node != "" {
			out.nodes = append(out.nodes, e.node)
		}
	}
	return out
}

// concerns reports whether a change concerns this node.
func (c *Control) concerns(change view.Change) bool {
	is := c.interest(change)
	return is.all || slices.Contains(is.nodes, c.node)
}

// routes reports whether an effect changes what proxies serve: a workload that no ingress names is none of their business.
func (s *Service) routes(e effect) bool {
	if e.table || e.service == "" {
		return e.table
	}
	s.audience.mu.Lock()
	served := s.audience.served
	s.audience.mu.Unlock()
	if served == nil {
		served = s.readServed()
	}
	return served[e.service]
}

// readServed reads which workloads ingresses name.
func (s *Service) readServed() map[string]bool {
	s.audience.mu.Lock()
	version := s.audience.version
	s.audience.mu.Unlock()
	served := map[string]bool{}
	for object := range s.snapshot().Objects(api.KindIngress) {
		if spec, err := api.DecodeSpec[api.IngressSpec](*object.Value); err == nil {
			served[object.Value.Scope+"/"+spec.ServiceName(object.Value.Name)] = true
		}
	}
	s.audience.mu.Lock()
	defer s.audience.mu.Unlock()
	if s.audience.version == version { // else it is about an ingress that has changed since
		s.audience.served = served
	}
	return served
}

// renewServed has the workloads that ingresses name read again after one of these changed.
func (s *Service) renewServed(change view.Change) {
	if object, ok := valueOf(change).(*api.Object); ok && object.Kind == api.KindIngress {
		s.audience.mu.Lock()
		defer s.audience.mu.Unlock()
		s.audience.served = nil
		s.audience.version++
	}
}
