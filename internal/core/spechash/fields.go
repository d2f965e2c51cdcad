package spechash

// includedV1 are the fields of a deployment that version 1 covers, by their json name. network is folded into networks,
// and of build only the arguments count.
var includedV1 = []string{
	"image", "command", "entrypoint", "env", "secret_files", "env_from", "user", "working_dir", "hostname",
	"labels", "stop_signal",
	"stop_grace_period", "ports", "aliases", "volumes", "network", "networks", "network_mode", "restart",
	"extra_hosts", "cap_add",
	"cap_drop", "read_only", "tmpfs", "shm_size", "devices", "dns", "security_opt", "ulimits", "docker_options",
	"resources", "logs", "build", "autoscale", "probes", "inits",
}

// setsV1 are the lists whose order means nothing.
var setsV1 = []string{"networks", "aliases", "extra_hosts", "cap_add", "cap_drop"}
