package local

import (
	"slices"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/view"
)

// audience knows whom the changes of the newest commit concern: worked out once, asked by every node that follows.
type audience struct {
	// revision is the newest one; it, of and asked belong to the goroutine that feeds the view.
	revision int64
	of       map[string]interest // by key
	asked    map[effect][]string // by effect that asks nodes for an image

	mu sync.Mutex
	// served are the ingresses by the scope/name of the workloads that they name, and those that hosts of labs stand
	// for; nil if they are to be read again. version counts how often.
	served  map[string][]api.IngressSpec
	version int
}

// interest says whom a change concerns.
type interest struct {
	all   bool
	nodes []string
}

// interest returns whom a change of the newest revision concerns. Only the goroutine that feeds the view calls it.
func (s *Service) interest(change view.Change) interest {
	s.audience.begin(change.Revision)
	if known, ok := s.audience.of[change.Key]; ok {
		return known
	}
	s.renewServed(change)
	found := interest{nodes: reporters(change)}
	for _, e := range s.effects(change) {
		if s.routes(e) {
			found.all = true
		}
		to := s.audienceOf(e, change.Revision)
		found.all = found.all || to.all
		found.nodes = append(found.nodes, to.nodes...)
	}
	s.audience.of[change.Key] = found
	return found
}

// begin forgets what was worked out for an older revision.
func (a *audience) begin(revision int64) {
	if revision != a.revision {
		a.revision, a.of, a.asked = revision, map[string]interest{}, map[effect][]string{}
	}
}

// audienceOf returns whom an effect of the newest revision concerns, apart from what proxies serve.
func (s *Service) audienceOf(e effect, revision int64) interest {
	switch {
	case e.all:
		return interest{all: true}
	case e.asks():
		s.audience.begin(revision)
		if _, known := s.audience.asked[e]; !known {
			s.audience.asked[e] = s.askedFor(e.image, e.requested)
		}
		return interest{nodes: s.audience.asked[e]}
	case e.node != "":
		return interest{nodes: []string{e.node}}
	}
	return interest{}
}

// reporters returns the node that reported a change, if it waits for the revision, which no frame of tasks or images
// has.
func reporters(change view.Change) []string {
	switch record := change.New.(type) {
	case *api.NodeStatus:
		return []string{record.ID}
	case *api.IngressNodeStatus:
		return []string{record.Node}
	case *api.NetworkNodeStatus:
		return []string{record.Node}
	}
	return nil
}

// concerns reports whether a change concerns this node. One that was committed before the node began to follow may:
// whom it asked for an image then is forgotten.
func (c *Control) concerns(change view.Change, past bool) bool {
	if !past {
		is := c.interest(change)
		return is.all || slices.Contains(is.nodes, c.node)
	}
	return slices.Contains(reporters(change), c.node) ||
		slices.ContainsFunc(c.effects(change), func(e effect) bool { return e.concerns(c.node) || c.routes(e) })
}

// routes reports whether an effect changes what proxies serve: they don't see a workload that no ingress names.
func (s *Service) routes(e effect) bool {
	if e.table || e.service == "" {
		return e.table
	}
	_, named := s.served()[e.service]
	return named
}

// atEvery reports whether a port of every node leads to a workload.
func (s *Service) atEvery(workload string) bool {
	return slices.ContainsFunc(s.served()[workload], atEvery)
}

// portsAtEvery returns the ports of every node, by Listen.String.
func (s *Service) portsAtEvery() map[string]bool {
	out := map[string]bool{}
	for _, ingresses := range s.served() {
		for _, spec := range ingresses {
			if atEvery(spec) {
				out[spec.ListensAt().String()] = true
			}
		}
	}
	return out
}

func atEvery(spec api.IngressSpec) bool { return spec.Listen != "" }

// served returns the ingresses that lead to each workload. It is not to be written to.
func (s *Service) served() map[string][]api.IngressSpec {
	s.audience.mu.Lock()
	served := s.audience.served
	s.audience.mu.Unlock()
	if served == nil {
		served = s.readServed()
	}
	return served
}

// readServed reads which workloads ingresses name, and which labs have a host.
func (s *Service) readServed() map[string][]api.IngressSpec {
	s.audience.mu.Lock()
	version := s.audience.version
	s.audience.mu.Unlock()
	served := map[string][]api.IngressSpec{}
	for object := range s.snapshot().Objects(api.KindIngress) {
		if spec, err := api.DecodeSpec[api.IngressSpec](*object.Value); err == nil {
			key := object.Value.Scope + "/" + spec.ServiceName(object.Value.Name)
			served[key] = append(served[key], spec)
		}
	}
	for object, route := range routedLabs(s.snapshot()) {
		key := object.Scope + "/" + object.Name
		served[key] = append(served[key], route)
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
	if object, ok := valueOf(change).(*api.Object); ok && (object.Kind == api.KindIngress || object.Kind == api.KindLab) {
		s.audience.mu.Lock()
		defer s.audience.mu.Unlock()
		s.audience.served = nil
		s.audience.version++
	}
}
