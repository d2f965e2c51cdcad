package manifest

import (
	"slices"
	"strings"

	"tend.dev/tend/internal/core/suggest"
)

// elsewhere are fields as Compose, Kubernetes, Nomad and kamal call them, with the paths that they have here. The first
// path that leads to a field, and has the form that was written, is suggested.
var elsewhere = map[string][]string{
	"environment": {"env"}, "env_vars": {"env"}, "variables": {"env"}, "envFrom": {"env_from"},
	"args": {"command"}, "cmd": {"command"},
	"count": {"replicas"}, "instances": {"replicas"}, "scale": {"replicas"},
	"port": {"ports"}, "expose": {"ports"}, "containerPort": {"port"},
	"restart_policy": {"restart"}, "restartPolicy": {"restart"},
	"mounts": {"volumes"}, "volumeMounts": {"volumes"}, "volume_mounts": {"volumes"},
	"workingDir": {"working_dir"}, "workdir": {"working_dir"}, "runAsUser": {"user"}, "run_as_user": {"user"},
	"stop_timeout": {"stop_grace_period"}, "terminationGracePeriodSeconds": {"stop_grace_period"},
	"healthcheck": {"health_check", "probes.readiness"}, "healthCheck": {"health_check", "probes.readiness"},
	"check": {"health_check", "probes.readiness"}, "probe": {"probes"},
	"livenessProbe": {"probes.liveness"}, "liveness_probe": {"probes.liveness"}, "liveness": {"probes.liveness"},
	"readinessProbe": {"probes.readiness"}, "readiness_probe": {"probes.readiness"}, "readiness": {"probes.readiness"},
	"startupProbe": {"probes.startup"}, "startup_probe": {"probes.startup"},
	"initContainers": {"init", "inits"}, "init_containers": {"init", "inits"}, "init_container": {"init", "inits"},
	"limits": {"resources.limits"}, "requests": {"reservations", "resources.reservations"},
	"reservations": {"resources.reservations"},
	"memory":       {"resources.limits.memory"}, "mem_limit": {"resources.limits.memory"}, "mem": {"limits.memory", "resources.limits.memory"},
	"mem_reservation": {"resources.reservations.memory"}, "cpus": {"cpu", "limits.cpu", "resources.limits.cpu"},
	"cpu":           {"resources.limits.cpu"},
	"update_config": {"strategy"}, "rollingUpdate": {"strategy"}, "rolling_update": {"strategy"}, "update": {"strategy"},
	"maxSurge": {"strategy.max_parallel"}, "max_surge": {"strategy.max_parallel"}, "parallelism": {"max_parallel", "strategy.max_parallel"},
	"maxUnavailable": {"strategy.max_parallel"}, "failure_action": {"on_failure"}, "type": {"order"},
	"nodeSelector": {"placement.constraints"}, "node_selector": {"placement.constraints"},
	"constraints": {"placement.constraints"}, "constraint": {"placement.constraints"},
	"logging": {"logs"}, "log_opts": {"logs"}, "privileged": {"docker_options"}, "securityContext": {"security_opt"},
	"domain": {"host"}, "hosts": {"host"},
}

// nowhere are fields of others that have no counterpart here, with the reason.
var nowhere = map[string]string{
	"container_name":    "Tend names containers SCOPE-NAME.ID; `aliases` are more names to reach them by",
	"links":             "pods of one scope reach each other by name",
	"secrets":           "`tend config set SCOPE/NAME KEY=VALUE` keeps them; `secret_files` makes files of keys",
	"configs":           "an asset holds files, which `volumes` mount",
	"pull_policy":       "an image is looked for again by `tend apply --force`",
	"imagePullPolicy":   "an image is looked for again by `tend apply --force`",
	"image_pull_policy": "an image is looked for again by `tend apply --force`",
	"imagePullSecrets":  "a `registry` says how to log in",
	"profiles":          "put what doesn't always run in a file of its own",
	"deploy":            "write its fields here, without the block around them",
	"spec":              "write its fields here, without the block around them",
	"template":          "write its fields here, without the block around them",
	"metadata":          "write its fields here, without the block around them",
	"task":              "write its fields here, without the block around them",
	"group":             "write its fields here, without the block around them",
	"containers":        "a deployment is one container: write its fields here",
	"selector":          "the pods of an object are those it made",
}

// counterpart returns the question or the sentence for a field of another tool; empty if it isn't one, or if what it
// leads to isn't among the known fields.
func (d *decoder) counterpart(f field, known []property) string {
	found := ""
	for _, path := range elsewhere[f.key] {
		p, is := d.propertyAt(path, known)
		switch {
		case !is:
		case !d.native || p.block == f.value.block:
			return suggest.Among([]string{path})
		case found == "":
			found = suggest.Among([]string{path})
		}
	}
	return found
}

// propertyAt returns the property that a path leads to from some properties.
func (d *decoder) propertyAt(path string, known []property) (property, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	at := slices.IndexFunc(known, func(p property) bool { return p.key(d.native) == name && !(d.native && p.label) })
	if at < 0 {
		return property{}, false
	}
	if !deeper {
		return known[at], true
	}
	inner, is := structOf(known[at].of)
	if !is {
		return property{}, false
	}
	return d.propertyAt(rest, properties(inner))
}

// nextFor returns what helps with a field that there isn't.
func (d *decoder) nextFor(f field, known []property, names []string) string {
	if next := d.counterpart(f, known); next != "" {
		return next
	}
	if next := suggest.Question(f.key, names); next != "" {
		return next
	}
	if next := nowhere[f.key]; next != "" {
		return next
	}
	return suggest.Among(d.deeper(f.key, known, mostDeeper))
}

// asList returns how to write what should be a list. Words of the text are not repeated: some may be secret.
func asList(path string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if name == "command" || name == "entrypoint" || strings.HasSuffix(name, "_command") {
		return `write ["PROGRAM", "ARGUMENT", …], or ["sh", "-c", "…"] for what a shell reads`
	}
	return "write [ … ]"
}
