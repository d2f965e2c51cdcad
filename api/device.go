package api

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Device is one device of the host given to the container.
type Device struct {
	Host      string `json:"host"`
	Container string `json:"container"`
	// Permissions are some of r, w and m (mknod). Default rwm.
	Permissions string `json:"permissions"`
}

// ParseDevice reads host[:container[:permissions]] or host:permissions. A host without a slash and with an equals sign
// is the name of a CDI device, which engines older than 25 don't know: it is refused.
func ParseDevice(entry string) (Device, error) {
	parts := strings.Split(entry, ":")
	d := Device{Host: parts[0], Container: parts[0], Permissions: "rwm"}
	switch {
	case len(parts) > 3:
		return Device{}, fmt.Errorf("%q is not host, host:container or host:container:permissions", entry)
	case len(parts) == 3:
		d.Container, d.Permissions = parts[1], parts[2]
	case len(parts) == 2 && isDeviceMode(parts[1]):
		d.Permissions = parts[1]
	case len(parts) == 2:
		d.Container = parts[1]
	}
	d.Container = cmp.Or(d.Container, d.Host)
	if !path.IsAbs(d.Host) || !path.IsAbs(d.Container) {
		return Device{}, fmt.Errorf("%q is not an absolute path", entry)
	}
	if !isDeviceMode(d.Permissions) {
		return Device{}, fmt.Errorf("permissions %q are not some of r, w and m, each once", d.Permissions)
	}
	for _, text := range []string{d.Host, d.Container} {
		if err := checkNoParent("path", text); err != nil {
			return Device{}, err
		}
	}
	return d, nil
}

func isDeviceMode(text string) bool {
	seen := map[rune]bool{}
	for _, r := range text {
		if !strings.ContainsRune("rwm", r) || seen[r] {
			return false
		}
		seen[r] = true
	}
	return text != ""
}

// UlimitNames are the limits an engine knows.
var UlimitNames = []string{
	"as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc", "rss", "rtprio",
	"rttime", "sigpending", "stack",
}

// ParseUlimit reads name=soft[:hard], as docker writes it; -1 is unlimited and hard is soft by default.
func ParseUlimit(entry string) (name string, soft, hard int64, err error) {
	name, limits, found := strings.Cut(entry, "=")
	if !found {
		return "", 0, 0, fmt.Errorf("%q is not name=soft or name=soft:hard", entry)
	}
	if !slices.Contains(UlimitNames, name) {
		return "", 0, 0, fmt.Errorf("%q is not a limit; there are %s", name, strings.Join(UlimitNames, ", "))
	}
	softText, hardText, both := strings.Cut(limits, ":")
	if !both {
		hardText = softText
	}
	if soft, err = parseLimit(softText); err != nil {
		return "", 0, 0, err
	}
	if hard, err = parseLimit(hardText); err != nil {
		return "", 0, 0, err
	}
	if hard != -1 && (soft > hard || soft == -1) {
		return "", 0, 0, fmt.Errorf("the soft limit %d is above the hard limit %d", soft, hard)
	}
	return name, soft, hard, nil
}

func parseLimit(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < -1 {
		return 0, fmt.Errorf("limit %q is not a whole number from 0 up, or -1 for unlimited", text)
	}
	return n, nil
}
