package overlay

import (
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"

	"github.com/coreos/go-iptables/iptables"
)

// rules are the exceptions in the rules of the container engine: packets through the device keep their source, and
// packets from other nodes reach the containers. Both come before the engine's own rules, which the engine inserts at
// the front whenever it starts.
type rules struct {
	tables *iptables.IPTables // nil while the machine lacks the command
	needed netip.Prefix       // the subnet that should be permitted
}

// open finds the command. One that is missing may be installed later.
func (r *rules) open() error {
	if r.tables != nil {
		return nil
	}
	tables, err := iptables.New()
	if errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("iptables: %w", err)
	}
	r.tables = tables
	return nil
}

// fault returns the reason why packets of other nodes may not reach this one's containers, or "". Containers that share
// the machine's network aren't affected by the engine's rules.
func (r *rules) fault(bridged bool) string {
	if r.tables != nil || !bridged {
		return ""
	}
	return "the command iptables is missing, so the container engine may drop the packets of other nodes: install the package iptables"
}

// keepSource is the rule that ends the translation of sources for packets that leave through the device.
var keepSource = []string{"-o", deviceName, "-j", "RETURN"}

// letIn returns the rule that accepts packets from other nodes for this one's containers.
func letIn(subnet netip.Prefix) []string {
	return []string{"-d", subnet.String(), "-i", deviceName, "-j", "ACCEPT"}
}

// chain returns the chain that Docker leaves to users, else the one that all forwarded packets pass.
func (r *rules) chain() (string, error) {
	exists, err := r.tables.ChainExists("filter", "DOCKER-USER")
	if err != nil || !exists {
		return "FORWARD", err
	}
	return "DOCKER-USER", nil
}

// permitted returns the subnet for which both exceptions are in effect.
func (r *rules) permitted() (netip.Prefix, error) {
	if err := r.open(); err != nil {
		return netip.Prefix{}, err
	}
	if r.tables == nil {
		return r.needed, nil
	}
	sources, err := r.tables.List("nat", "POSTROUTING")
	if err != nil {
		return netip.Prefix{}, err
	}
	chain, err := r.chain()
	if err != nil {
		return netip.Prefix{}, err
	}
	accepted, err := r.tables.List("filter", chain)
	if err != nil {
		return netip.Prefix{}, err
	}
	translated := func(rule string) bool { return strings.Contains(rule, "MASQUERADE") || strings.Contains(rule, "SNAT") }
	kept, first := slices.Index(sources, "-A POSTROUTING "+strings.Join(keepSource, " ")),
		slices.IndexFunc(sources, translated)
	if kept < 0 || first >= 0 && first < kept {
		return netip.Prefix{}, nil
	}
	for _, rule := range accepted {
		to, found := strings.CutPrefix(rule, "-A "+chain+" -d ")
		if subnet, rest, _ := strings.Cut(to, " "); found && rest == "-i "+deviceName+" -j ACCEPT" {
			return netip.ParsePrefix(subnet)
		}
	}
	return netip.Prefix{}, nil
}

func (r *rules) permit(subnet netip.Prefix) error {
	if r.tables == nil {
		r.needed = subnet
		return nil
	}
	chain, err := r.chain()
	if err != nil {
		return err
	}
	return errors.Join(
		r.tables.DeleteIfExists("nat", "POSTROUTING", keepSource...), r.tables.Insert("nat", "POSTROUTING", 1, keepSource...),
		r.tables.DeleteIfExists("filter", chain, letIn(subnet)...), r.tables.Insert("filter", chain, 1, letIn(subnet)...))
}

func (r *rules) forbid(subnet netip.Prefix) error {
	if r.tables == nil {
		r.needed = netip.Prefix{}
		return nil
	}
	chain, err := r.chain()
	if err != nil {
		return err
	}
	return errors.Join(r.tables.DeleteIfExists("nat", "POSTROUTING", keepSource...),
		r.tables.DeleteIfExists("filter", chain, letIn(subnet)...))
}
