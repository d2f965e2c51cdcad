package compose

import "strings"

// reasons say why a key is not converted, and what to do. In a path's second part, * stands for the author's name.
var reasons = map[string]string{
	"services.*.build.target":                                    "the last stage of the Dockerfile is built; name another file in dockerfile",
	"services.*.annotations":                                     "`docker run` of the version whose flags docker_options knows has none",
	"services.*.attach":                                          "`tend logs` shows what you ask for",
	"services.*.container_name":                                  "Tend names containers <scope>-<name>.<slot>, so that several can run",
	"services.*.credential_spec":                                 "only Windows containers have it",
	"services.*.deploy.labels":                                   "there is no service beside its containers; labels are theirs",
	"services.*.deploy.endpoint_mode":                            "the name of a workload stands for all its containers, as dnsrr does",
	"services.*.develop":                                         "Tend watches no source trees",
	"services.*.external_links":                                  "containers reach each other as <name>.<scope>",
	"services.*.gpus":                                            "write docker_options = [\"--gpus=…\"]",
	"services.*.links":                                           "containers reach each other as <name>.<scope>",
	"services.*.models":                                          "Tend runs no models",
	"services.*.post_start":                                      "Tend runs nothing inside a started container; init runs before it",
	"services.*.pre_start":                                       "write an init block",
	"services.*.pre_stop":                                        "stop_signal and stop_grace_period are how a container is stopped",
	"services.*.provider":                                        "Tend calls no providers",
	"services.*.pull_policy":                                     "a reference is looked for at each release; `tend apply --force` resolves it again",
	"services.*.pull_refresh_after":                              "`tend apply --force` resolves the image again",
	"services.*.umask":                                           "set it in the command",
	"services.*.use_api_socket":                                  "mount the socket in volumes, if the container may own the machine",
	"services.*.volumes_from":                                    "write the volumes themselves",
	"volumes.*.driver":                                           "Tend leaves volumes as the engine makes them; make it with `docker volume create`",
	"volumes.*.driver_opts":                                      "make the volume with `docker volume create`",
	"services.*.deploy.update_config.max_failure_ratio":          "a rollout stops at the first slot that does not become healthy",
	"services.*.deploy.rollback_config":                          "a rollback follows strategy, as any rollout",
	"services.*.deploy.resources.reservations.generic_resources": "Tend reserves cores and memory",
	"services.*.deploy.resources.reservations.devices":           "write docker_options = [\"--gpus=…\"]",
	"services.*.healthcheck.start_interval":                      "a probe has one period",
	"services.*.deploy.restart_policy.delay":                     "an engine waits longer after each restart by itself",
	"services.*.deploy.restart_policy.window":                    "a container counts as healthy after strategy.monitor",
	"services.*.volumes.volume.subpath":                          "a volume is mounted whole",
	"services.*.secrets.uid":                                     ownerFixed,
	"services.*.secrets.gid":                                     ownerFixed,
	"services.*.secrets.mode":                                    "the file has mode 0400",
	"services.*.configs.uid":                                     "the file belongs to root",
	"services.*.configs.gid":                                     "the file belongs to root",
	"services.*.configs.mode":                                    "the file is mounted as it was read, for reading alone",
	"services.*.cpu_count":                                       "only Windows containers have it",
	"services.*.cpu_percent":                                     "only Windows containers have it",
	"models":                                                     "Tend runs no models",
}

const (
	ownerFixed = "the file belongs to the container's user"
	noField    = "Tend has no field for it"
)

// why returns the reason for a path with its indexes taken out: its own, or that of what it lies in.
func why(path string) string {
	parts := strings.Split(strings.ReplaceAll(path, "[*]", ""), ".")
	if parts[0] == "jobs" {
		parts[0] = "services"
	}
	if len(parts) > 1 {
		parts[1] = "*"
	}
	for n := len(parts); n > 0; n-- {
		if reason, known := reasons[strings.Join(parts[:n], ".")]; known {
			return reason
		}
	}
	return noField
}
