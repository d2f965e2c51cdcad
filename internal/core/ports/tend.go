package ports

import (
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
)

// defaults are the TCP ports that Tend's listeners have unless flags say otherwise: stores of servers, people, programs
// of the machine, containers, nodes, relays.
var defaults = []int{2380, 8685, 8686, 8687, 8688, 8690}

// Numbers returns the ports of addresses, or URLs, at which a program listens. It skips what names none, such as off.
func Numbers(addresses ...string) (out []int) {
	for _, address := range addresses {
		if _, number := split(address); number > 0 && !slices.Contains(out, number) {
			out = append(out, number)
		}
	}
	return out
}

// Reserved is a port of Tend's own that an object would take.
type Reserved struct {
	// Field is the part of the spec that names it.
	Field  string
	Number int
}

// NewlyReserved returns what TakesReserved does for an object, without the ports that the stored version of it had,
// in whichever field, before they were Tend's: those of an object that no admin declared, but for the ones that it was
// given (Give). Only those who may give a port decide which program gets it. stored is nil if there is none.
func NewlyReserved(object api.Object, stored *api.Object, announced []int) []Reserved {
	taken := TakesReserved(object, published(object), announced)
	if stored == nil || !stored.Confined() {
		return taken
	}
	had := slices.DeleteFunc(TakesReserved(*stored, published(*stored), announced), func(h Reserved) bool {
		return slices.Contains(given(*stored), strconv.Itoa(h.Number))
	})
	return slices.DeleteFunc(taken, func(t Reserved) bool {
		return slices.ContainsFunc(had, func(h Reserved) bool { return h.Number == t.Number })
	})
}

// Give returns the stamp api.StampGivenPorts of an object that one who may give ports of Tend's changes: those that it
// was given before, and those that it takes newly.
func Give(object api.Object, stored *api.Object, announced []int) string {
	all := given(object)
	for _, taken := range NewlyReserved(object, stored, announced) {
		if number := strconv.Itoa(taken.Number); !slices.Contains(all, number) {
			all = append(all, number)
		}
	}
	return strings.Join(all, " ")
}

func given(object api.Object) []string {
	return strings.Fields(object.Metadata.Stamps[api.StampGivenPorts])
}

// published returns the `ports` of an object. Those of a spec that can't be read are none.
func published(object api.Object) []string {
	if !object.Kind.HasContainers() {
		return nil
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil {
		return nil
	}
	return spec.Ports
}

// TakesReserved returns the ports of Tend's own listeners that an object would take on its nodes: the defaults, and
// those that the servers announce. A program that holds such a port while the listener is down keeps it down, and gets
// what its clients send. published are the object's `ports`. One that the engine chooses from a range counts with all
// of it. The address doesn't matter: a listener of all addresses has this one too.
func TakesReserved(object api.Object, published []string, announced []int) (out []Reserved) {
	add := func(field string, first, last int) {
		for _, number := range slices.Concat(defaults, announced) {
			taken := Reserved{field, number}
			if first <= number && number <= last && !slices.Contains(out, taken) {
				out = append(out, taken)
			}
		}
	}
	for i, entry := range published {
		if port, err := api.NormalizePort(entry); err == nil && port.Protocol == api.ProtocolTCP {
			add("ports["+strconv.Itoa(i)+"]", port.Host.First, port.Host.Last)
		}
	}
	if object.Kind == api.KindIngress {
		for _, port := range Listened(object) {
			if port.Protocol == api.ProtocolTCP {
				add(port.Field, port.Number, port.Number)
			}
		}
	}
	return out
}
