package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/internal/core/membership"
)

// check lists every flag that is wrong.
func (f *serverFlags) check() error {
	o := &f.options
	return errors.Join(
		f.machine.check(),
		f.backups.check(),
		checkHTTP(o.HTTP),
		checkListen("node-listen", o.NodeListen),
		flagFault("no-agent", o.NoAgent, !o.NoAgent || o.NodeListen != "",
			"also --node-listen: without it no machine can join"),
		checkListen("listen", o.Listen),
		flagFault("tls-cert", o.TLSCert, o.TLSCert == "" || o.TLSKey != "", "also --tls-key: the key of the certificate"),
		flagFault("tls-key", o.TLSKey, o.TLSKey == "" || o.TLSCert != "", "also --tls-cert: the certificate of the key"),
		flagFault("tls-cert", o.TLSCert, o.TLSCert == "" || o.Listen != "", "also --listen: it is the certificate there"),
		checkHostMounts(o.HostMounts),
		checkURL("etcd-client", o.EtcdClient),
		checkURL("etcd-peer", o.EtcdPeer),
		flagFault("name", o.Name, o.Name == "" || membership.ValidName(o.Name), membership.NameRule),
		checkListen("peer-listen", o.PeerListen),
		checkListen("peer-address", o.PeerAddress),
		flagFault("peer-listen", o.PeerListen, o.PeerListen == "" || o.EtcdPeer == "", "no --etcd-peer beside it"),
		f.checkEtcd(),
		flagFault("join", o.Join, o.Join == "" || o.Token != "" && (o.PeerListen != "" || len(o.External.Endpoints) > 0),
			"also --token, and --peer-listen or --etcd-endpoints: tend nodes add --server prints the command"),
		flagFault("plugin-timeout", o.PluginTimeout, o.PluginTimeout > 0, "more than 0"),
		flagFault("autoscale-interval", o.AutoscaleInterval, o.AutoscaleInterval >= time.Second, "1s or more"),
	)
}

// checkListen accepts an address to listen at, or none.
func checkListen(name, address string) error {
	if address == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return flagFault(name, address, err == nil, "an address and a port as in :8688 or 10.0.0.1:8688")
}

func flagFault(name string, value any, good bool, want string) error {
	if good {
		return nil
	}
	if value == "" {
		return fmt.Errorf("--%s: want %s", name, want)
	}
	return fmt.Errorf("--%s %v: want %s", name, value, want)
}

// checkHTTP accepts a loopback address, or off.
func checkHTTP(address string) error {
	if address == "off" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--http %s: want an address and a port as in 127.0.0.1:8686, or off", address)
	}
	if number, err := strconv.Atoi(port); err != nil || number < 0 || number > 65535 {
		return fmt.Errorf("--http %s: %q is not a port: want 0 to 65535", address, port)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--http %s: want a loopback address: --listen is the listener that others reach, with TLS; "+
			"the unix socket can be reached over SSH", address)
	}
	return nil
}

// checkHostMounts accepts absolute folders, none of which lies in another: who may write to the outer one could put a
// symbolic link in the place of the inner one.
func checkHostMounts(folders []string) error {
	for i, folder := range folders {
		if !filepath.IsAbs(folder) || filepath.Clean(folder) != folder || folder == "/" {
			return flagFault("allow-host-mounts", folder, false, "absolute paths of folders, such as /srv/data")
		}
		for j, other := range folders {
			if i != j && strings.HasPrefix(folder+"/", other+"/") {
				return flagFault("allow-host-mounts", folder, false, "folders that don't lie in each other: it lies in "+other)
			}
		}
	}
	return nil
}

func checkURL(name, text string) error {
	if text == "" {
		return nil
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Port() == "" {
		return fmt.Errorf("--%s %s: want a URL with a port, as in http://127.0.0.1:2379", name, text)
	}
	return nil
}
