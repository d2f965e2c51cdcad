package agent

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/ingress"
	"tend.dev/tend/internal/node/relay"
)

// services caches the services of ingresses that have pods on the node. It is read again after an announced change,
// not for each connection.
type services struct {
	mu    sync.Mutex
	known map[string]node.Service
	fresh bool
}

func (s *services) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = false
}

func (s *services) of(a *Agent, key string) (node.Service, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fresh {
		s.fresh = true // before the look: a change after it is announced after it
		s.known = a.control.Served().Services
	}
	found, known := s.known[key]
	return found, known
}

var errNotReady = errors.New("its pod gets no requests now")

// Endpoint returns where a pod of this node listens at a port of its container, for the proxies of other nodes. It
// returns an error unless the pod gets requests now, and an ingress leads to that port by that protocol.
func (a *Agent) Endpoint(task string, port int, protocol string) (string, error) {
	select {
	case <-a.control.Synced():
	default:
		return "", relay.ErrEarly
	}
	assigned, known := a.control.Task(task)
	if !known {
		return "", errors.New("the node has no such pod")
	}
	service, served := a.services.of(a, assigned.Task.Scope+"/"+assigned.Task.Name)
	leads := func(at node.At) bool { return at.Port == port && at.Protocol == protocol }
	if !served || !slices.ContainsFunc(service.At, leads) {
		return "", fmt.Errorf("no ingress leads to port %d/%s of %s", port, protocol, assigned.Task.Owner())
	}
	status := a.reports.task(assigned)
	if !a.containers.serves(status) || !assigned.Serves(status) {
		return "", errNotReady
	}
	pod := ingress.Candidate{Address: status.Address, Ports: status.Ports}
	if address := pod.Endpoint(port, protocol, service.NetworkMode); address != "" {
		return address, nil
	}
	return "", errNotReady
}

// AtEvery reports whether a port of every node leads to a port of a task of this node.
func (a *Agent) AtEvery(task string, port int, protocol string) bool {
	assigned, known := a.control.Task(task)
	if !known {
		return false
	}
	service, _ := a.services.of(a, assigned.Task.Scope+"/"+assigned.Task.Name)
	return slices.Contains(service.At, node.At{Port: port, Protocol: protocol, Every: true})
}
