package netpolicy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// nftables is the kernel of this machine, by the command nft.
type nftables struct{}

// System returns the kernel of this machine.
func System() Kernel { return nftables{} }

// bridged exists if the kernel can filter packets between the ports of a bridge.
const bridged = "/proc/sys/net/bridge"

// Prepare implements Kernel. It sets the bridge's own switches: those of the machine (bridge-nf-call-iptables) would
// filter the packets of every bridge, also of bridges that aren't Tend's. It uses netlink, since the files below /sys
// may belong to another network namespace.
func (nftables) Prepare(ctx context.Context, bridge Bridge) error {
	if _, err := os.Stat(bridged); errors.Is(err, fs.ErrNotExist) {
		if output, err := exec.CommandContext(ctx, "modprobe", "br_netfilter").CombinedOutput(); err != nil {
			return fmt.Errorf("load the kernel module br_netfilter: %w: %s", err, bytes.TrimSpace(output))
		}
	}
	if bridge == (Bridge{}) {
		return nil
	}
	message := nl.NewIfInfomsg(unix.AF_UNSPEC)
	message.Index = int32(bridge.Index)
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated("bridge"))
	data := info.AddRtAttr(nl.IFLA_INFO_DATA, nil)
	for _, setting := range []int{nl.IFLA_BR_NF_CALL_IPTABLES, nl.IFLA_BR_NF_CALL_IP6TABLES} {
		data.AddRtAttr(setting, nl.Uint8Attr(1))
	}
	request := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
	request.AddData(message)
	request.AddData(info)
	if _, err := request.Execute(unix.NETLINK_ROUTE, 0); err != nil {
		return fmt.Errorf("have the packets of the bridge %s filtered: %w", bridge.Name, err)
	}
	return nil
}

// Bridge implements Kernel.
func (nftables) Bridge(subnet netip.Prefix) (Bridge, error) {
	if !subnet.IsValid() {
		return Bridge{}, nil
	}
	addresses, err := netlink.AddrList(nil, netlink.FAMILY_ALL) // what an interrupted list has is right
	for _, address := range addresses {
		if is, wrong := netip.ParsePrefix(address.IPNet.String()); wrong == nil && is.Masked() == subnet.Masked() {
			link, err := netlink.LinkByIndex(address.LinkIndex)
			if err != nil {
				return Bridge{}, err
			}
			return Bridge{link.Attrs().Name, address.LinkIndex}, nil
		}
	}
	return Bridge{}, err
}

// errNoCommand means that the machine has no nftables.
var errNoCommand = errors.New("the command nft is missing: install the package nftables")

// List implements Kernel.
func (nftables) List(ctx context.Context) (string, error) {
	tables, err := nft(ctx, "", "list", "tables")
	if err != nil || !has(tables) {
		return "", err
	}
	return nft(ctx, "", append([]string{"--stateless", "list", "table"}, strings.Fields(table)...)...)
}

// Apply implements Kernel.
func (nftables) Apply(ctx context.Context, script string) error {
	_, err := nft(ctx, script, "--file", "-")
	return err
}

// Remove implements Kernel.
func (nftables) Remove(ctx context.Context) error {
	is, err := nft(ctx, "", "list", "tables")
	if errors.Is(err, errNoCommand) || err == nil && !has(is) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = nft(ctx, "", append([]string{"delete", "table"}, strings.Fields(table)...)...)
	return err
}

// has reports whether the table is among those that are listed.
func has(tables string) bool { return strings.Contains(tables, "table "+table+"\n") }

// nft runs the command nft, and returns its output.
func nft(ctx context.Context, input string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "nft", args...)
	var output, said bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &output, &said
	err := command.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errNoCommand
	case err != nil:
		text, _, _ := strings.Cut(said.String(), "\n")
		return "", fmt.Errorf("nft %s: %w: %s", args[0], err, text)
	}
	return output.String(), nil
}
