package source

import (
	"net/netip"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// privilege is a use of a field that takes more than a container has.
type privilege struct {
	field string
	// does completes the sentence that begins with the field.
	does string
	uses func(spec api.WorkloadSpec, scope string) bool
	next string
}

const (
	reachesHost = "reaches the host"
	fieldPorts  = "ports"
)

// privileges lists the fields of workloads that only a trusted source or an admin may set.
var privileges = []privilege{
	{"image", reachesHost, func(s api.WorkloadSpec, _ string) bool { return isFolder(s.Image) }, nextTrust},
	{
		"volumes", reachesHost,
		func(s api.WorkloadSpec, _ string) bool { return slices.ContainsFunc(s.Volumes, isHostFolder) }, nextTrust,
	},
	{
		"volumes", "mounts a volume that may be another's",
		func(s api.WorkloadSpec, scope string) bool {
			return slices.ContainsFunc(s.Volumes, func(entry string) bool { return isForeignVolume(entry, scope) })
		},
		"begin the volume's name with the scope and a dot, such as shop.data; or set trusted",
	},
	{"devices", reachesHost, func(s api.WorkloadSpec, _ string) bool { return len(s.Devices) > 0 }, nextTrust},
	{"cap_add", reachesHost, func(s api.WorkloadSpec, _ string) bool { return len(s.CapAdd) > 0 }, nextTrust},
	{"security_opt", reachesHost, func(s api.WorkloadSpec, _ string) bool { return len(s.SecurityOpt) > 0 }, nextTrust},
	{"network_mode", reachesHost, func(s api.WorkloadSpec, _ string) bool { return s.NetworkMode == "host" }, nextTrust},
	{
		"networks", "joins a network that may be another's", func(s api.WorkloadSpec, _ string) bool {
			return slices.ContainsFunc(append(slices.Clone(s.Networks), s.Network), isForeignNetwork)
		},
		nextTrust,
	},
	{
		fieldPorts, "publishes on an address of the host that others reach",
		func(s api.WorkloadSpec, _ string) bool { return slices.ContainsFunc(s.Ports, isPublic) },
		"leave the address out, which publishes on 127.0.0.1; declare an ingress; or set trusted",
	},
	{
		"docker_options", reachesHost,
		func(s api.WorkloadSpec, _ string) bool { return len(s.DockerOptions) > 0 }, nextTrust,
	},
	{
		"init.docker_options", reachesHost, func(s api.WorkloadSpec, _ string) bool {
			return slices.ContainsFunc(s.Inits, func(i api.Init) bool { return len(i.DockerOptions) > 0 })
		},
		nextTrust,
	},
	{
		"init.image", reachesHost,
		func(s api.WorkloadSpec, _ string) bool {
			return slices.ContainsFunc(s.Inits, func(i api.Init) bool { return isFolder(i.Image) })
		},
		nextTrust,
	},
}

// isFolder reports whether an image is a folder, for the process runtime.
func isFolder(image string) bool { return strings.HasPrefix(image, "/") }

// isHostFolder reports whether an entry of volumes is neither a volume nor a file of an asset.
func isHostFolder(entry string) bool {
	volume, err := api.ParseVolume(api.StandIn(entry))
	return err != nil || !volume.Named() && !api.AssetMount(entry)
}

// isForeignVolume reports whether an entry of volumes is a volume, not a folder, that may be another scope's. Names
// of volumes are the engine's, without a scope; a scope has no dot, so <scope>. begins names of no other one.
func isForeignVolume(entry, scope string) bool {
	return !api.AssetMount(entry) && !isHostFolder(entry) && !strings.HasPrefix(entry, scope+".")
}

// isForeignNetwork reports whether a name is that of a network of the engine, other than the one that every container
// is in.
func isForeignNetwork(name string) bool {
	return !slices.Contains([]string{"", api.Network, api.NetworkAlias}, name)
}

// isPublic reports whether an entry of ports is published on another address than the host's loopback.
func isPublic(entry string) bool {
	port, err := api.NormalizePort(entry)
	if err != nil {
		return true
	}
	address, err := netip.ParseAddr(port.HostIP)
	return err != nil || !address.Unmap().IsLoopback()
}

// publicListen returns what an ingress listens at beyond loopback, and "" for any other object.
func publicListen(object api.Object) string {
	if object.Kind != api.KindIngress {
		return ""
	}
	spec, err := api.DecodeSpec[api.IngressSpec](object)
	if err != nil || spec.Listen == "" || spec.ListensAt().IP.IsLoopback() {
		return "" // validation reports a spec that can't be read
	}
	return spec.Listen
}
