package api

// HostPorts are the ports of a host that are taken, each with its owner. Taking one, and finding who has it, costs a
// few lookups, however many are taken. The zero value is empty.
type HostPorts[Owner any] struct {
	taken map[hostPort]Owner
}

// hostPort is a port at an address, at every address (empty), or at some address, whichever it is.
type hostPort struct {
	ip       string
	some     bool
	number   int
	protocol string
}

// Owner returns who has a port: at this address, at every address, or, if the address is that of every one, at any. An
// empty address, 0.0.0.0 and :: are every address.
func (t *HostPorts[Owner]) Owner(ip string, number int, protocol string) (owner Owner, taken bool) {
	if anyAddress(ip) {
		owner, taken = t.taken[hostPort{some: true, number: number, protocol: protocol}]
		return owner, taken
	}
	if owner, taken = t.taken[hostPort{number: number, protocol: protocol}]; taken {
		return owner, true
	}
	owner, taken = t.taken[hostPort{ip: ip, number: number, protocol: protocol}]
	return owner, taken
}

// Take gives a port to an owner. The first owner of a port keeps it.
func (t *HostPorts[Owner]) Take(ip string, number int, protocol string, owner Owner) {
	if t.taken == nil {
		t.taken = map[hostPort]Owner{}
	}
	if anyAddress(ip) {
		ip = ""
	}
	own, some := hostPort{ip: ip, number: number, protocol: protocol},
		hostPort{some: true, number: number, protocol: protocol}
	for _, port := range []hostPort{own, some} {
		if _, has := t.taken[port]; !has {
			t.taken[port] = owner
		}
	}
}
