package dockerflags

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"tend.dev/tend/api"
)

func list(field func(*Options) *[]string) apply {
	return func(o *Options, v string) error {
		if v == "" {
			return errEmpty
		}
		*field(o) = append(*field(o), v)
		return nil
	}
}

func pairs(field func(*Options) *map[string]string) apply {
	return func(o *Options, v string) error {
		key, value, found := strings.Cut(v, "=")
		if !found || key == "" {
			return fmt.Errorf("takes key=value, not %q", v)
		}
		put(field(o), key, value)
		return nil
	}
}

func put(at *map[string]string, key, value string) {
	if *at == nil {
		*at = map[string]string{}
	}
	(*at)[key] = value
}

// addEnv refuses a name without a value: docker would take it from the environment of the user who runs the command.
func addEnv(o *Options, v string) error {
	key, value, found := strings.Cut(v, "=")
	if key == "" {
		return fmt.Errorf("takes NAME=value, not %q", v)
	}
	if !found {
		return fmt.Errorf("names no value for %s; write %s=value, or %s=${%s} to take it from your own environment",
			key, key, key, key)
	}
	put(&o.Env, key, value)
	return nil
}

func addLabel(o *Options, v string) error {
	key, value, _ := strings.Cut(v, "=")
	if key == "" {
		return fmt.Errorf("takes key=value, not %q", v)
	}
	if strings.HasPrefix(key, api.LabelPrefix) {
		return fmt.Errorf("%s is not available: labels that begin with %q are Tend's own", key, api.LabelPrefix)
	}
	put(&o.Labels, key, value)
	return nil
}

func address(field func(*Options) *string, version int) apply {
	return func(o *Options, v string) error {
		addr, err := netip.ParseAddr(v)
		if err != nil || addr.Is4() != (version == 4) {
			return fmt.Errorf("takes an IPv%d address, not %q", version, v)
		}
		*field(o) = v
		return nil
	}
}

func addresses(field func(*Options) *[]string) apply {
	return func(o *Options, v string) error {
		if _, err := netip.ParseAddr(v); err != nil {
			return fmt.Errorf("takes an IP address, not %q", v)
		}
		*field(o) = append(*field(o), v)
		return nil
	}
}

func setMAC(o *Options, v string) error {
	if _, err := net.ParseMAC(strings.TrimSpace(v)); err != nil {
		return fmt.Errorf("takes an address such as 92:d0:c6:0a:29:33, not %q", v)
	}
	o.MACAddress = v
	return nil
}

func addHost(o *Options, v string) error {
	if err := api.CheckExtraHost(v); err != nil {
		return fmt.Errorf("has a wrong value: %w", err)
	}
	o.ExtraHosts = append(o.ExtraHosts, v)
	return nil
}

// addSecurityOpt does what docker's client does before it sends the option: systempaths becomes its own field. For the
// client a seccomp profile is a file; here it must be the profile itself.
func addSecurityOpt(o *Options, v string) error {
	if v == "systempaths=unconfined" {
		o.UnconfinedSystemPaths = true
		return nil
	}
	if err := api.CheckSecurityOpt(v); err != nil {
		return err
	}
	o.SecurityOpts = append(o.SecurityOpts, v)
	return nil
}

// addNetwork distinguishes a network from a network mode.
func addNetwork(o *Options, v string) error {
	if v == "host" || v == "none" || v == "bridge" || v == "default" || strings.HasPrefix(v, "container:") {
		if o.NetworkMode != "" && o.NetworkMode != v {
			return fmt.Errorf("is both %s and %s", o.NetworkMode, v)
		}
		o.NetworkMode = v
		return nil
	}
	network, err := parseNetwork(v)
	if err != nil {
		return err
	}
	o.Networks = append(o.Networks, network)
	return nil
}

// parseNetwork reads a name, or the long form name=…,alias=…,driver-opt=key=value.
func parseNetwork(v string) (Network, error) {
	if !strings.Contains(v, "=") {
		if v == "" {
			return Network{}, errEmpty
		}
		return Network{Name: v}, nil
	}
	var n Network
	for field := range strings.SplitSeq(v, ",") {
		key, value, _ := strings.Cut(field, "=")
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "name":
			n.Name = value
		case "alias":
			n.Aliases = append(n.Aliases, value)
		case "driver-opt":
			option, setting, found := strings.Cut(value, "=")
			if !found || option == "" {
				return Network{}, fmt.Errorf("driver-opt takes key=value, not %q", value)
			}
			put(&n.DriverOpts, option, setting)
		default:
			return Network{}, fmt.Errorf("has no field %q; there are name, alias and driver-opt", key)
		}
	}
	if n.Name == "" {
		return Network{}, errors.New("names no network; begin with name=")
	}
	return n, nil
}
