//go:build linux

package process

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"strconv"
	"syscall"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
	"tend.dev/tend/internal/platform/portowner"
)

// Ports that no manifest requests by number come from below the kernel's range for outgoing connections, so that a
// container finds its own port free after a restart.
const (
	firstPort = 20000
	lastPort  = 32000
)

// allot assigns a container its ports for life: the declared ones, or one if none is declared.
func (r *Runtime) allot(spec runtime.ContainerSpec) ([]api.PortBinding, error) {
	taken := map[int]bool{}
	err := r.each(func(_ string, record shim.Record) error {
		for _, port := range record.Ports {
			taken[port.HostPort] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(spec.Spec.Ports) == 0 {
		port, err := r.freePort(spec.Name, api.Loopback, taken)
		return []api.PortBinding{{Container: port, Protocol: "tcp", HostIP: api.Loopback, HostPort: port}}, err
	}
	var out []api.PortBinding
	for _, entry := range spec.Spec.Ports {
		declared, err := api.NormalizePort(entry)
		if err != nil {
			return nil, invalid("ports", fmt.Errorf("entry %q: %w", entry, err))
		}
		for i := range declared.Container.Len() {
			binding := api.PortBinding{
				Container: declared.Container.First + i, Protocol: declared.Protocol, HostIP: declared.HostIP,
				HostPort: declared.Host.First + i,
			}
			if declared.Host.Len() == 0 {
				if binding.HostPort, err = r.freePort(spec.Name, declared.HostIP, taken); err != nil {
					return nil, err
				}
			}
			taken[binding.HostPort] = true
			out = append(out, binding)
		}
	}
	return out, nil
}

// freePort starts its search at a position that depends on the container's name, so that containers created together
// rarely collide.
func (r *Runtime) freePort(name, address string, taken map[int]bool) (int, error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	const span = lastPort - firstPort
	for i := range span {
		port := firstPort + (int(h.Sum32()%span)+i)%span
		if !taken[port] && bindable("tcp", address, port) == nil && bindable("udp", address, port) == nil {
			return port, nil
		}
	}
	return 0, &runtime.TransientError{
		Reason: "NoPortFree", Detail: fmt.Sprintf("%s has no free port from %d to %d", r.place(), firstPort, lastPort),
		Next: "stop programs there that hold such ports; Tend retries",
	}
}

// portsFree refuses to start a program whose ports are in use. The program's own error would be less clear.
func (r *Runtime) portsFree(record shim.Record) error {
	for _, port := range record.Ports {
		if err := bindable(port.Protocol, port.HostIP, port.HostPort); errors.Is(err, syscall.EADDRINUSE) {
			detail := fmt.Sprintf("port %s of %s is in use",
				net.JoinHostPort(port.HostIP, strconv.Itoa(port.HostPort)), r.place())
			if owner, found := portowner.Of(port.HostPort); found && port.Protocol != "udp" {
				detail += " by " + owner.String()
			}
			return &runtime.RejectedError{Reason: "PortTaken", Detail: detail, Next: runtime.FreePort}
		}
	}
	return nil
}

func bindable(protocol, address string, port int) error {
	where := net.JoinHostPort(address, strconv.Itoa(port))
	if protocol == "udp" {
		conn, err := net.ListenPacket("udp", where)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	listener, err := net.Listen("tcp", where)
	if err != nil {
		return err
	}
	return listener.Close()
}
