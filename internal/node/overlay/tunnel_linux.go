package overlay

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// tunnel is a device of WireGuard: the kernel's, or one of this process where the kernel has none.
type tunnel interface {
	// state returns the public key, the port and the peers.
	state() (key string, port int, paths []Path, err error)
	connect(Path) error
	disconnect(Path) error
	close()
}

// keepAlive is the interval of packets that keep the connection in the tables of firewalls.
const keepAlive = 25 * time.Second

// openTunnel makes a device, by the kernel if it can.
func openTunnel(name string, d Device, key wgtypes.Key) (tunnel, error) {
	err := netlink.LinkAdd(&netlink.Wireguard{LinkAttrs: netlink.LinkAttrs{Name: name, MTU: d.MTU}})
	if err != nil {
		return newProcessTunnel(name, d, key)
	}
	client, err := wgctrl.New()
	if err != nil {
		return nil, err
	}
	port := d.Port
	return &kernelTunnel{client, name}, client.ConfigureDevice(name, wgtypes.Config{PrivateKey: &key, ListenPort: &port})
}

// adoptTunnel takes over the kernel's device of an earlier process.
func adoptTunnel(link netlink.Link) (tunnel, error) {
	if link.Type() != "wireguard" {
		return nil, fmt.Errorf("the device %s is another program's, or another agent's: end that one", link.Attrs().Name)
	}
	client, err := wgctrl.New()
	if err != nil {
		return nil, err
	}
	return &kernelTunnel{client, link.Attrs().Name}, nil
}

// endpoint completes a path's address by the port that all nodes use.
func endpoint(path Path, port int) string {
	return netip.AddrPortFrom(path.Address, uint16(port)).String()
}

// processTunnel is WireGuard in this process, through a TUN device, which ends with it.
type processTunnel struct {
	device *device.Device
	port   int
	key    string
	// paths holds the peers as they were configured. WireGuard changes a peer's endpoint to the one that its packets come
	// from.
	paths map[string]Path
}

func newProcessTunnel(name string, d Device, key wgtypes.Key) (*processTunnel, error) {
	opened, err := tun.CreateTUN(name, d.MTU)
	if err != nil {
		return nil, err
	}
	log := &device.Logger{Verbosef: device.DiscardLogf, Errorf: device.DiscardLogf}
	p := &processTunnel{device: device.NewDevice(opened, conn.NewDefaultBind(), log), port: d.Port, key: d.Key,
		paths: map[string]Path{}}
	err = errors.Join(p.device.IpcSet(fmt.Sprintf("private_key=%s\nlisten_port=%d\n", hex.EncodeToString(key[:]), d.Port)),
		p.device.Up())
	if err != nil {
		p.device.Close()
		return nil, err
	}
	return p, nil
}

func (p *processTunnel) state() (string, int, []Path, error) {
	text, err := p.device.IpcGet()
	if err != nil {
		return "", 0, nil, err
	}
	var paths []Path
	port := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "listen_port":
			port, _ = strconv.Atoi(value)
		case "public_key":
			if key, err := keyOf(value); err == nil {
				paths = append(paths, p.paths[key])
			}
		}
	}
	return p.key, port, paths, nil
}

// keyOf turns a key in hex into the usual text.
func keyOf(text string) (string, error) {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		return "", err
	}
	key, err := wgtypes.NewKey(bytes)
	return key.String(), err
}

func (p *processTunnel) connect(path Path) error {
	key, err := wgtypes.ParseKey(path.Key)
	if err != nil {
		return fmt.Errorf("the key of %s: %w", path.Subnet, err)
	}
	err = p.device.IpcSet(fmt.Sprintf("public_key=%s\nendpoint=%s\npersistent_keepalive_interval=%d\nreplace_allowed_ips=true\nallowed_ip=%s\n",
		hex.EncodeToString(key[:]), endpoint(path, p.port), int(keepAlive.Seconds()), path.Subnet))
	if err == nil {
		p.paths[path.Key] = path
	}
	return err
}

func (p *processTunnel) disconnect(path Path) error {
	key, err := wgtypes.ParseKey(path.Key)
	if err != nil {
		return nil //nolint:nilerr // a route alone, without a peer
	}
	delete(p.paths, path.Key)
	return p.device.IpcSet(fmt.Sprintf("public_key=%s\nremove=true\n", hex.EncodeToString(key[:])))
}

func (p *processTunnel) close() { p.device.Close() }

// kernelTunnel is the kernel's WireGuard. It keeps working without this process.
type kernelTunnel struct {
	client *wgctrl.Client
	name   string
}

func (k *kernelTunnel) state() (string, int, []Path, error) {
	is, err := k.client.Device(k.name)
	if err != nil {
		return "", 0, nil, err
	}
	var paths []Path
	for _, peer := range is.Peers {
		path := Path{Key: peer.PublicKey.String()}
		if peer.Endpoint != nil {
			path.Address = peer.Endpoint.AddrPort().Addr().Unmap()
		}
		for _, allowed := range peer.AllowedIPs {
			path.Subnet, _ = prefixOf(&allowed)
		}
		paths = append(paths, path)
	}
	return is.PublicKey.String(), is.ListenPort, paths, nil
}

func (k *kernelTunnel) connect(path Path) error {
	key, err := wgtypes.ParseKey(path.Key)
	if err != nil {
		return fmt.Errorf("the key of %s: %w", path.Subnet, err)
	}
	is, err := k.client.Device(k.name)
	if err != nil {
		return err
	}
	interval := keepAlive
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(path.Address, uint16(is.ListenPort)))
	return k.client.ConfigureDevice(k.name, wgtypes.Config{Peers: []wgtypes.PeerConfig{{
		PublicKey: key, Endpoint: to, PersistentKeepaliveInterval: &interval, ReplaceAllowedIPs: true,
		AllowedIPs: []net.IPNet{*network(path.Subnet)},
	}}})
}

func (k *kernelTunnel) disconnect(path Path) error {
	key, err := wgtypes.ParseKey(path.Key)
	if err != nil {
		return nil //nolint:nilerr // a route alone, without a peer
	}
	return k.client.ConfigureDevice(k.name, wgtypes.Config{Peers: []wgtypes.PeerConfig{{PublicKey: key, Remove: true}}})
}

func (k *kernelTunnel) close() { _ = k.client.Close() }
