package dockerflags

import "errors"

// refusedFlags are flags of docker run that have no meaning here, or that would override what Tend owns. Each names the
// field to use instead.
var refusedFlags = []definition{
	refuse("name", "", false, "is not yours to choose: containers are named <scope>-<name>.<id> after the manifest"),
	refuse("rm", "", true, "is not available: Tend removes a container when its pod was replaced"),
	refuse("restart", "", false, "is not available here; use the field restart"),
	refuse("detach", "d", true, "is not needed: containers always run detached"),
	refuse("detach-keys", "", false, "is not available: containers run detached; use tend exec"),
	refuse("attach", "a", false, "is not available: containers run detached; use tend logs"),
	refuse("sig-proxy", "", true, "is not available: containers run detached"),
	refuse("cidfile", "", false, "is not available: tend get shows each container's id"),
	refuse("pull", "", false, "is not available: an image that is missing is pulled, and a release pins what it found"),
	refuse("disable-content-trust", "", true, "is not available: image signatures are not looked at"),
	refuse("env-file", "", false,
		"would read a file of the machine that runs the container; use the field env_file, which the client reads"),
	refuse("label-file", "", false, "would read a file of the machine that runs the container; use the field labels"),
	refuse("cpu-count", "", false, "is for Windows containers; use resources.limits.cpu"),
	refuse("cpu-percent", "", false, "is for Windows containers; use resources.limits.cpu"),
	refuse("io-maxbandwidth", "", false, "is for Windows containers; use --device-read-bps and --device-write-bps"),
	refuse("io-maxiops", "", false, "is for Windows containers; use --device-read-iops and --device-write-iops"),
	refuse("help", "", true, "does nothing for a container"),
}

func refuse(name, short string, boolean bool, why string) definition {
	return definition{name: name, short: short, boolean: boolean,
		apply: func(*Options, string) error { return errors.New(why) }}
}
