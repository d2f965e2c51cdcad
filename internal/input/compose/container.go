package compose

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tend.dev/tend/api"
)

// container converts the keys that every kind has.
func (c *converter) container(u *unit) api.Container {
	r, at := c.report, u.at
	out := api.Container{User: u.User, WorkingDir: u.WorkingDir, StopSignal: u.StopSignal, ReadOnly: u.ReadOnly}
	c.source(u, &out)
	r.carry(at+".user", at+".working_dir", at+".stop_signal", at+".read_only")
	c.program(u, &out)
	out.Env = c.environment(u)
	out.Labels = c.labels(u)
	r.carryAll(at + ".labels")
	r.carryAll(at + ".label_file")
	r.noteIfWritten(at+".label_file", "its labels were written into labels")
	if u.StopGracePeriod != nil {
		u.place("stop_grace_period", at+".stop_grace_period")
		out.StopGracePeriod = duration(time.Duration(*u.StopGracePeriod))
	}
	r.carry(at + ".stop_grace_period")
	out.Hostname = u.Hostname
	r.carry(at + ".hostname")
	c.network(u, &out)
	c.storage(u, &out)
	c.files(u, &out)
	c.rights(u, &out)
	c.limits(u, &out)
	c.flags(u)
	return out
}

// program converts the command and the entrypoint. An empty list of Compose clears the image's own.
func (c *converter) program(u *unit, out *api.Container) {
	command, entrypoint := u.Command, u.Entrypoint
	cleared := func(argv []string) bool { return argv != nil && len(argv) == 0 }
	switch {
	case cleared(entrypoint) && len(command) > 0: // then the command is the whole program
		c.report.carryAll(u.at + ".entrypoint")
		c.report.note(u.at+".entrypoint", "clears the image's own: the command became the entrypoint")
		out.Entrypoint = c.argv(u.at+".command", command)
		return
	case cleared(command) && len(entrypoint) > 0: // with an entrypoint the image's command counts no more
		command = nil
	}
	out.Command = c.argv(u.at+".command", command)
	out.Entrypoint = c.argv(u.at+".entrypoint", entrypoint)
}

func (c *converter) argv(at string, argv []string) []string {
	c.report.carryAll(at)
	if argv != nil && len(argv) == 0 {
		c.report.lost(at, Changes, "an empty list clears the image's own, which Tend can't do; write the command to run")
	}
	if len(argv) > 0 && argv[0] == "" {
		c.report.lost(at, Breaks, "its first word is empty")
		return nil
	}
	return argv
}

// environment returns the environment as Compose resolves it; env_file is part of it.
func (c *converter) environment(u *unit) map[string]string {
	r, at := c.report, u.at+".environment"
	r.carryAll(at)
	// compose-go drops the files once it has read them, so only the text still has them.
	r.carryAll(u.at + ".env_file")
	r.noteIfWritten(u.at+".env_file",
		"its values were written into env; for secrets: take them out and `tend config import`")
	env := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(u.Environment)) {
		value := u.Environment[name]
		switch {
		case value == nil:
			r.lost(join(at, name), Changes, "it takes its value from the environment, which has no %s", name)
			c.steps.variables = append(c.steps.variables, name)
		case api.CheckEnv(name, *value) != nil:
			r.lost(join(at, strings.ToValidUTF8(name, "?")), Changes, "%s", api.CheckEnv(name, *value))
		default:
			env[name] = literal(*value)
		}
	}
	if len(env) == 0 {
		return nil
	}
	return env
}

// labels returns the labels, without those of a label_file that JSON would change.
func (c *converter) labels(u *unit) map[string]string {
	labels := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(u.Labels)) {
		if !utf8.ValidString(name) || !utf8.ValidString(u.Labels[name]) {
			c.report.lost(join(u.at+".labels", strings.ToValidUTF8(name, "?")), Changes, "it is not UTF-8 text")
			continue
		}
		labels[name] = u.Labels[name]
	}
	if len(labels) == 0 {
		return nil
	}
	return labels
}

// literal escapes a text so that it isn't read as a reference to another object.
func literal(text string) string {
	references := api.References(text)
	for i := len(references) - 1; i >= 0; i-- {
		if at := references[i]; !at.Escaped {
			text = text[:at.Start] + "$" + text[at.Start:]
		}
	}
	return text
}

// rights converts the container's privileges: user, capabilities and the like.
func (c *converter) rights(u *unit, out *api.Container) {
	r, at := c.report, u.at
	r.carryAll(at+".cap_add", at+".cap_drop")
	u.list("cap_add", "cap_add", len(u.CapAdd))
	u.list("cap_drop", "cap_drop", len(u.CapDrop))
	out.CapAdd, out.CapDrop = u.CapAdd, u.CapDrop
	r.carry(at+".devices", at+".devices[*]", at+".devices[*].source", at+".devices[*].target", at+
		".devices[*].permissions")
	for i, device := range u.Devices {
		entry := device.Source
		if device.Target != "" && device.Target != device.Source || device.Permissions != "" && device.Permissions != "rwm" {
			entry += ":" + device.Target
		}
		if device.Permissions != "" && device.Permissions != "rwm" {
			entry += ":" + device.Permissions
		}
		if !strings.HasPrefix(entry, "/") {
			r.lost(fmt.Sprintf("%s.devices[%d]", at, i), Breaks, "%q is not the path of a device", entry)
			continue
		}
		u.from("devices", fmt.Sprintf("%s.devices[%d]", at, i))
		out.Devices = append(out.Devices, entry)
	}
	r.carry(at+".security_opt", at+".security_opt[*]")
	for i, option := range u.SecurityOpt {
		entry := option
		if key, value, found := strings.Cut(option, ":"); found && !strings.Contains(key, "=") {
			entry = key + "=" + value
		}
		if err := api.CheckSecurityOpt(entry); err != nil {
			r.lost(fmt.Sprintf("%s.security_opt[%d]", at, i), Changes, "%s", err)
			continue
		}
		u.from("security_opt", fmt.Sprintf("%s.security_opt[%d]", at, i))
		out.SecurityOpt = append(out.SecurityOpt, entry)
	}
}

// limits converts the resource limits. deploy.resources.limits is the newer form of the same keys.
func (c *converter) limits(u *unit, out *api.Container) {
	r, at := c.report, u.at
	r.carry(at+".ulimits", at+".cpus", at+".mem_limit", at+".shm_size")
	for _, name := range slices.Sorted(maps.Keys(u.Ulimits)) {
		limit := u.Ulimits[name]
		here := join(at+".ulimits", name)
		r.carry(here, here+".soft", here+".hard")
		if out.Ulimits == nil {
			out.Ulimits = map[string]string{}
		}
		if limit.Single != 0 {
			out.Ulimits[name] = strconv.Itoa(limit.Single)
		} else {
			out.Ulimits[name] = fmt.Sprintf("%d:%d", limit.Soft, limit.Hard)
		}
	}
	if u.ShmSize > 0 {
		out.ShmSize = strconv.FormatInt(int64(u.ShmSize), 10)
	}
	if u.CPUS > 0 {
		limitsOf(out).CPU = cores(u.CPUS)
		u.place("resources.limits.cpu", at+".cpus")
	}
	if u.MemLimit > 0 {
		limitsOf(out).Memory = strconv.FormatInt(int64(u.MemLimit), 10)
		u.place("resources.limits.memory", at+".mem_limit")
	}
	c.logs(u, out)
}

func limitsOf(out *api.Container) *api.ResourceLimits {
	if out.Resources == nil {
		out.Resources = &api.Resources{Limits: &api.ResourceLimits{}}
	}
	return out.Resources.Limits
}

func cores(n float32) string { return strconv.FormatFloat(float64(n), 'f', -1, 32) }

// logs converts the size of json-file logs; other drivers send logs where `tend logs` can't read them.
func (c *converter) logs(u *unit, out *api.Container) {
	r, at := c.report, u.at+".logging"
	if u.Logging == nil {
		return
	}
	r.carry(at, at+".options")
	switch u.Logging.Driver {
	case "", "json-file", "local":
		r.carry(at + ".driver")
	default:
		r.lost(at, Changes, "logs are kept in json-file, where `tend logs` finds them")
		return
	}
	logs := &api.Logs{}
	for _, name := range slices.Sorted(maps.Keys(u.Logging.Options)) {
		value, here := u.Logging.Options[name], join(at+".options", name)
		switch n, err := strconv.Atoi(value); {
		case name == "max-size":
			logs.MaxSize = value
			u.place("logs.max_size", here)
			r.carry(here)
		case name == "max-file" && err == nil:
			logs.MaxFiles = &n
			u.place("logs.max_files", here)
			r.carry(here)
		default:
			r.lost(here, Trifle, "Tend sets only max-size and max-file")
		}
	}
	if *logs != (api.Logs{}) {
		out.Logs = logs
	}
}
