package agent

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// asRole returns the release as a task of a role runs it: for the workload's own tasks unchanged; for a command of the
// release with its image, environment, volumes and networks, but without what only serving pods have: ports, addresses,
// probes, inits and the volumes of ordinals.
func asRole(r node.Release, role api.TaskRole) node.Release {
	if role == api.RoleMain {
		return r
	}
	spec := r.Spec
	switch hooks := spec.Release; {
	case role == api.RoleDeploy:
		spec.Entrypoint, spec.Command = []string{"sh", "-c"}, []string{script(spec.PostDeploy)}
	case hooks == nil:
	case role == api.RolePre:
		spec.Command = hooks.PreCommand
	case role == api.RoleCommand:
		spec.Command = hooks.Command
	case role == api.RolePost:
		spec.Command = hooks.PostCommand
	}
	spec.Ports, spec.Probes, spec.Inits, spec.HealthCheck, spec.Hostname = nil, nil, nil, "", ""
	spec.DockerOptions = withoutServing(spec.DockerOptions)
	r.Spec, r.Claims = spec, nil
	return r
}

// servingFlags are the docker_options that only one container at a time can have, or that send traffic to it; true if
// the flag takes a value.
var servingFlags = map[string]bool{
	"-p": true, "--publish": true, "-P": false, "--publish-all": false, "--ip": true, "--ip6": true, "--mac-address": true,
	"--network-alias": true, "--net-alias": true, "-h": true, "--hostname": true,
}

func withoutServing(options []string) []string {
	var out []string
	for i := 0; i < len(options); i++ {
		flag, _, joined := strings.Cut(options[i], "=")
		if len(flag) > 2 && !strings.HasPrefix(flag, "--") && (flag[:2] == "-p" || flag[:2] == "-h") {
			flag, joined = flag[:2], true // -p80:80
		}
		valued, serves := servingFlags[flag]
		if !serves {
			out = append(out, options[i])
		} else if valued && !joined {
			i++
		}
	}
	return slices.Clip(out)
}

// script runs shell commands one after another, each in its own shell, until one fails.
func script(commands []string) string {
	quoted := make([]string, len(commands))
	for i, command := range commands {
		quoted[i] = "sh -c '" + strings.ReplaceAll(command, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " && ")
}
