package dockerflags

import (
	"encoding/csv"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
)

// addMount reads the comma-separated key=value list of --mount.
func addMount(o *Options, v string) error {
	fields, err := csv.NewReader(strings.NewReader(v)).Read()
	if err != nil {
		return fmt.Errorf("has a wrong value %q: %w", v, err)
	}
	m := Mount{Type: "volume"}
	used := map[string]bool{}
	for _, field := range fields {
		key, value, hasValue := strings.Cut(field, "=")
		key = strings.ToLower(key)
		if err := m.set(key, value, hasValue); err != nil {
			return err
		}
		family, _, found := strings.Cut(key, "-")
		used[family] = used[family] || found
	}
	if err := m.check(used); err != nil {
		return err
	}
	o.Mounts = append(o.Mounts, m)
	return nil
}

func (m *Mount) set(key, value string, hasValue bool) error {
	if flag := m.mountBool(key); flag != nil {
		if !hasValue {
			value = "true"
		}
		return setTruth(flag, value)
	}
	if !hasValue {
		return fmt.Errorf("field %q takes key=value", key)
	}
	switch key {
	case "type":
		m.Type = strings.ToLower(value)
	case "source", "src":
		m.Source = value
	case "target", "dst", "destination":
		m.Target = value
	case "consistency":
		m.Consistency = strings.ToLower(value)
	case "bind-propagation":
		m.Propagation = strings.ToLower(value)
	case "volume-driver":
		m.VolumeDriver = value
	case "volume-label":
		k, v, _ := strings.Cut(value, "=")
		put(&m.VolumeLabels, k, v)
	case "volume-opt":
		k, v, _ := strings.Cut(value, "=")
		put(&m.VolumeOptions, k, v)
	case "tmpfs-size":
		return m.setTmpfsSize(value)
	case "tmpfs-mode":
		mode, err := strconv.ParseUint(value, 8, 32)
		if err != nil {
			return fmt.Errorf("tmpfs-mode takes an octal mode such as 1777, not %q", value)
		}
		m.TmpfsMode = uint32(mode)
	default:
		return fmt.Errorf("has no field %q", key)
	}
	return nil
}

func (m *Mount) mountBool(key string) *bool {
	switch key {
	case "readonly", "ro":
		return &m.ReadOnly
	case "bind-nonrecursive":
		return &m.NonRecursive
	case "volume-nocopy":
		return &m.NoCopy
	}
	return nil
}

func (m *Mount) setTmpfsSize(value string) error {
	n, err := api.ParseSize(value)
	if err != nil {
		return fmt.Errorf("tmpfs-size: %w", err)
	}
	m.TmpfsSize = n
	return nil
}

var propagations = []string{"", "private", "rprivate", "shared", "rshared", "slave", "rslave"}

// check reports the errors that docker would: a mount has a type and a target, and only options of its own type.
func (m *Mount) check(used map[string]bool) error {
	switch {
	case !slices.Contains([]string{"bind", "volume", "tmpfs"}, m.Type):
		return fmt.Errorf("type is bind, volume or tmpfs, not %q", m.Type)
	case m.Target == "":
		return errors.New("names no target; add target=/path")
	case !path.IsAbs(m.Target) || path.Clean(m.Target) == "/":
		return fmt.Errorf("target is an absolute path other than /, not %q", m.Target)
	case m.Type == "bind" && !path.IsAbs(m.Source):
		return fmt.Errorf("source of a bind mount is an absolute path, not %q", m.Source)
	case m.Type == "tmpfs" && m.Source != "":
		return errors.New("of type tmpfs has no source")
	case !slices.Contains(propagations, m.Propagation):
		return fmt.Errorf("bind-propagation is one of %s, not %q", strings.Join(propagations[1:], ", "), m.Propagation)
	case !slices.Contains([]string{"", "default", "consistent", "cached", "delegated"}, m.Consistency):
		return fmt.Errorf("consistency is default, consistent, cached or delegated, not %q", m.Consistency)
	}
	for _, family := range []string{"bind", "volume", "tmpfs"} {
		if used[family] && m.Type != family {
			return fmt.Errorf("mixes %s-* options with type %s", family, m.Type)
		}
	}
	return nil
}
