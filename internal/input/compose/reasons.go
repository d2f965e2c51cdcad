package compose

import "strings"

// reason explains a key that isn't converted: the cause, the next step, and its weight.
type reason struct {
	weight Weight
	text   string
}

// reasons maps keys without a converter to their reason. In the second part of a path, * matches any name.
var reasons = map[string]reason{
	"services.*.build.target": {Breaks,
		"the last stage of the Dockerfile is built; put the wanted stage into a file of its own and name it in dockerfile"},
	"services.*.build.secrets": {Breaks,
		"a build gets no secrets; build this image elsewhere, push it, and name it in image"},
	"services.*.build.ssh": {Breaks,
		"a build gets no SSH agent; build this image elsewhere, push it, and name it in image"},
	"services.*.build.additional_contexts": {Breaks,
		"a build has one folder; copy into it what the Dockerfile needs, or push the image and name it in image"},
	"services.*.build.dockerfile_inline": {Breaks,
		"write it into a file and name that in dockerfile"},
	"services.*.build.platforms": {Changes, "it is built for the node's own platform"},
	"services.*.build.network":   {Changes, "a build has the engine's own network"},
	"services.*.build.privileged": {Changes,
		"a build has no rights beyond the engine's own"},
	"services.*.build.entitlements": {Changes,
		"a build has no rights beyond the engine's own"},
	"services.*.build.extra_hosts": {Changes, "a build resolves names as its engine does"},
	"services.*.build.no_cache":    {Trifle, "the engine's cache is used"},
	"services.*.build.args": {Changes,
		"it takes its value from the environment, which has none"},
	"services.*.build":           {Trifle, "Tend builds without it"},
	"services.*.annotations":     {Trifle, "the engine's `docker run` has none"},
	"services.*.attach":          {Trifle, "`tend logs` shows what you ask for"},
	"services.*.credential_spec": {Breaks, "only Windows containers have it"},
	"services.*.deploy.labels": {Trifle,
		"there is no service beside its containers; labels are theirs"},
	"services.*.deploy.endpoint_mode": {Trifle,
		"the name of a workload stands for all its containers, as dnsrr does"},
	"services.*.develop": {Trifle, "Tend watches no source trees"},
	"services.*.models": {Breaks,
		"Tend runs no models; run one as a service, or name its address in environment"},
	"services.*.post_start": {Changes,
		"Tend runs nothing inside a started container; post_deploy runs once a release is rolled out"},
	"services.*.pre_start": {Breaks, "write an init block"},
	"services.*.pre_stop": {Changes,
		"a container is stopped by stop_signal and stop_grace_period alone"},
	"services.*.provider": {Breaks,
		"Tend calls no providers; run what it provides as a service, or name its address in environment"},
	"services.*.pull_policy": {Trifle,
		"an image is looked for at each release; `tend apply --force` resolves it again"},
	"services.*.pull_refresh_after": {Trifle,
		"`tend apply --force` resolves the image again"},
	"services.*.umask": {Changes, "set it in the command"},
	"services.*.use_api_socket": {Breaks,
		"mount the engine's socket in volumes, if the container may own the machine"},
	"services.*.volumes_from": {Breaks, "write the volumes themselves"},
	"volumes.*.labels":        {Trifle, "Tend labels no volumes"},
	"networks.*.labels":       {Trifle, "Tend labels no networks"},
	"secrets.*.labels":        {Trifle, "config keys have no labels"},
	"configs.*.labels":        {Trifle, "assets have no labels"},
	"services.*.deploy.update_config.max_failure_ratio": {Trifle,
		"a rollout stops at the first pod that doesn't become healthy"},
	"services.*.deploy.rollback_config":      {Trifle, "a rollback follows strategy, as any rollout"},
	"services.*.deploy.restart_policy.delay": {Trifle, "the engine waits longer after each restart"},
	"services.*.deploy.restart_policy.window": {Trifle,
		"a container counts as healthy after strategy.monitor"},
	"services.*.deploy.resources.reservations.pids": {Trifle, "Tend reserves cores and memory"},
	"services.*.healthcheck.start_interval":         {Trifle, "a probe has one period"},
	"services.*.volumes.volume.subpath": {Breaks,
		"a volume is mounted whole; mount the folder of the machine, or change the path in the container"},
	"services.*.volumes.volume.labels":  {Trifle, "Tend labels no volumes"},
	"services.*.volumes.bind.recursive": {Trifle, "mounts below the folder come along"},
	"services.*.ports.name":             {Trifle, "ports have no names"},
	"services.*.ports.app_protocol":     {Trifle, "a published port carries any protocol"},
	"services.*.secrets.uid":            {Changes, ownerFixed},
	"services.*.secrets.gid":            {Changes, ownerFixed},
	"services.*.secrets.mode":           {Changes, "the file has mode 0400"},
	"services.*.configs.uid":            {Changes, "the file belongs to root"},
	"services.*.configs.gid":            {Changes, "the file belongs to root"},
	"services.*.configs.mode":           {Changes, "the file can be read, and not written"},
	"services.*.container_name": {Trifle,
		"a job's containers are called <scope>-<name>.<id>"},
	"services.*.external_links": {Breaks,
		"they lead to containers outside the file; import those too, and reach them as <name>.<scope>"},
	"services.*.cpu_count":                       {Trifle, "only Windows containers have it"},
	"services.*.cpu_percent":                     {Trifle, "only Windows containers have it"},
	"services.*.networks.ipv4_address":           {Changes, addressFixed},
	"services.*.networks.ipv6_address":           {Changes, addressFixed},
	"services.*.networks.link_local_ips":         {Changes, addressFixed},
	"services.*.networks.priority":               {Trifle, "a container has one network with Tend"},
	"services.*.networks.gw_priority":            {Trifle, "a container has one network with Tend"},
	"services.*.networks.use_service_name_alias": {Trifle, "the service's name always resolves"},
	"services.*.networks.interface_name":         {Changes, "the engine names the interface"},
	"services.*.networks.mac_address": {Changes,
		"write docker_options = [\"--mac-address=…\"]"},
	"services.*.networks.driver_opts": {Changes,
		"the network between containers is Tend's own"},
	"services.*.ports": {Breaks,
		"a job serves no requests; if this one does, write restart: unless-stopped and import again"},
	"services.*.deploy.update_config": {Trifle, "a job has no rollout"},
	"services.*.deploy.replicas":      {Changes, "a job has one container a run"},
	"services.*.scale":                {Changes, "a job has one container a run"},
	"services.*.healthcheck":          {Trifle, "a job's exit code says how it went"},
	"models":                          {Breaks, "Tend runs no models"},
	"services.*.deploy.resources.reservations.devices": {Breaks,
		"a device is not a GPU that docker_options can name"},
	"services.*.deploy.resources.reservations.generic_resources": {Changes, "Tend reserves cores and memory"},
}

const (
	ownerFixed   = "the file belongs to the container's user"
	addressFixed = "a container has an address that changes; others reach it by name"
	noField      = "Tend has no field for it"
)

// why returns the reason for a path without indexes: its own, or that of the closest path above it.
func why(path string) (Weight, string) {
	parts := strings.Split(strings.ReplaceAll(path, "[*]", ""), ".")
	if parts[0] == "jobs" {
		parts[0] = "services"
	}
	if len(parts) > 1 {
		parts[1] = "*"
	}
	if len(parts) > 4 && parts[2] == "networks" { // the name is the author's
		parts = append(parts[:3:3], parts[4:]...)
	}
	for n := len(parts); n > 0; n-- {
		if known, found := reasons[strings.Join(parts[:n], ".")]; found {
			return known.weight, known.text
		}
	}
	return Changes, noField
}
