package dockerflags

import (
	"encoding/csv"
	"fmt"
	"path"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

func addDevice(o *Options, v string) error {
	device, err := api.ParseDevice(v)
	if err != nil {
		return fmt.Errorf("has a wrong value: %w", err)
	}
	o.Devices = append(o.Devices, device)
	return nil
}

var cgroupRule = pattern.Lazy(`^[acb] ([0-9]+|\*):([0-9]+|\*) [rwm]{1,3}$`)

func addCgroupRule(o *Options, v string) error {
	if !cgroupRule().MatchString(v) {
		return fmt.Errorf("takes a rule such as \"c 1:3 mr\", not %q", v)
	}
	o.DeviceCgroupRules = append(o.DeviceCgroupRules, v)
	return nil
}

// addGPUs reads all, a number, or a list of count=, driver=, device=, capabilities= and options=.
func addGPUs(o *Options, v string) error {
	fields, err := csv.NewReader(strings.NewReader(v)).Read()
	if err != nil {
		return fmt.Errorf("has a wrong value %q: %w", v, err)
	}
	var request DeviceRequest
	seen := map[string]bool{}
	for _, field := range fields {
		key, value, found := strings.Cut(field, "=")
		if !found {
			key, value = "count", field
		}
		if seen[key] {
			return fmt.Errorf("names %s twice", key)
		}
		seen[key] = true
		if err := request.set(key, value); err != nil {
			return err
		}
	}
	if !seen["count"] && request.DeviceIDs == nil {
		request.Count = 1
	}
	if request.Capabilities == nil {
		request.Capabilities = [][]string{{"gpu"}}
	}
	o.DeviceRequests = append(o.DeviceRequests, request)
	return nil
}

func (r *DeviceRequest) set(key, value string) error {
	switch key {
	case "driver":
		r.Driver = value
	case "device":
		r.DeviceIDs = strings.Split(value, ",")
	case "capabilities":
		r.Capabilities = [][]string{append(strings.Split(value, ","), "gpu")}
	case "options":
		for option := range strings.SplitSeq(value, ",") {
			k, v, found := strings.Cut(option, "=")
			if !found {
				return fmt.Errorf("options take key=value, not %q", option)
			}
			put(&r.Options, k, v)
		}
	case "count":
		if value == "all" {
			r.Count = -1
			return nil
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("count is a number or all, not %q", value)
		}
		r.Count = n
	default:
		return fmt.Errorf("has no field %q; there are count, driver, device, capabilities and options", key)
	}
	return nil
}

// splitDevice splits /dev/path:setting.
func splitDevice(v string) (device, setting string, err error) {
	device, setting, found := strings.Cut(v, ":")
	if !found || setting == "" || !strings.HasPrefix(path.Clean(device), "/dev/") {
		return "", "", fmt.Errorf("takes /dev/<device>:<value>, not %q", v)
	}
	return device, setting, nil
}

func addWeight(o *Options, v string) error {
	device, setting, err := splitDevice(v)
	if err != nil {
		return err
	}
	weight, err := blkioWeight(setting)
	if err != nil {
		return err
	}
	o.BlkioWeightDevice = append(o.BlkioWeightDevice, DeviceWeight{Path: device, Weight: weight})
	return nil
}

func setBlkioWeight(o *Options, v string) error {
	weight, err := blkioWeight(v)
	if err != nil {
		return err
	}
	o.BlkioWeight = weight
	return nil
}

func blkioWeight(v string) (uint16, error) {
	n, err := strconv.ParseUint(v, 10, 16)
	if err != nil || (n != 0 && (n < 10 || n > 1000)) {
		return 0, fmt.Errorf("takes a weight of 10 to 1000, or 0, not %q", v)
	}
	return uint16(n), nil
}

func rate(field func(*Options) *[]DeviceRate, parse func(string) (uint64, error)) apply {
	return func(o *Options, v string) error {
		device, setting, err := splitDevice(v)
		if err != nil {
			return err
		}
		n, err := parse(setting)
		if err != nil {
			return fmt.Errorf("has a wrong rate: %w", err)
		}
		*field(o) = append(*field(o), DeviceRate{Path: device, Rate: n})
		return nil
	}
}

func bytesPerSecond(v string) (uint64, error) {
	n, err := api.ParseSize(v)
	return uint64(n), err
}

func timesPerSecond(v string) (uint64, error) {
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", v)
	}
	return n, nil
}
