package spechash

import "slices"

// includedV1 are the fields of a deployment that version 1 covers, by their json name. network is folded into networks,
// and of build only the arguments count.
var includedV1 = []string{
	"image", "command", "entrypoint", "env", "secret_files", "env_from", "user", "working_dir", "hostname", "labels", "stop_signal",
	"stop_grace_period", "ports", "volumes", "network", "networks", "network_mode", "restart", "extra_hosts", "cap_add",
	"cap_drop", "read_only", "tmpfs", "shm_size", "devices", "dns", "security_opt", "ulimits", "docker_options",
	"resources", "logs", "build", "autoscale", "probes", "inits",
}

// setsV1 are the lists whose order means nothing.
var setsV1 = []string{"networks", "extra_hosts", "cap_add", "cap_drop"}

// excluded are the fields no version covers, each with the reason.
var excluded = map[string]string{
	"mode":          "how many pods there are changes none of them",
	"placement":     "says where pods run, not what; one that may not stay where it is moves by itself",
	"replicas":      "scaling must not touch containers that run",
	"env_file":      "the client reads it into env; no stored spec has it",
	"strategy":      "says how slots are replaced, not what runs in them",
	"keep_releases": "how many releases are kept reaches no container",
	"health_check":  "a path the ingress asks for; the container is the same",
	"post_deploy":   "commands of the host, run after a rollout",
	"release":       "commands run once per release, not by the slots",
	"on_deploy":     "a webhook's address must not roll slots",
	"on_probe":      "a webhook's address must not roll slots",
	"depends_on":    "says when a release may begin; the digests of the assets it names are in the hash by themselves",
}

// Covers reports whether a change of a field replaces containers; the reason says why not. Fields are named by their
// json name.
func Covers(field string) (covered bool, reason string) {
	if slices.Contains(includedV1, field) {
		return true, ""
	}
	return false, excluded[field]
}
