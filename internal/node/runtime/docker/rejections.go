package docker

import (
	"regexp"

	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/core/nextstep"
	"tend.dev/tend/internal/node/runtime"
)

// rejected is a row of the table: words that must all be in the engine's message, and their meaning. In say and next,
// {node} stands for the machine.
type rejected struct {
	words  []string
	reason string
	next   string
	// say is the sentence for users in place of the engine's; the text that find matches replaces a %s in it. Empty keeps
	// the engine's.
	say  string
	find func() *regexp.Regexp
}

// Patterns that find the names in the engine's message for a sentence.
var (
	portIn    = pattern.Lazy(`(?:Bind for|listen \w+) (\S+?:\d+)[: ]`)
	addressIn = pattern.Lazy(`(?:listen \w+|[Bb]ind(?:ing)? (?:host port )?for) \[?([0-9a-fA-F.:]+?)\]?:\d+[: ]`)
	pathIn    = pattern.Lazy(`does not exist: (.+?)"?$`)
	programIn = pattern.Lazy(`exec: "([^"]+)"|exec ([^ :]+): exec format`)
	userIn    = pattern.Lazy(`unable to find (?:user|group) (.+?):`)
	sysctlIn  = pattern.Lazy(`sysctl "([^"]+)"|sysctl key ([^ :]+)|/proc/sys/([^ :]+)`)
	optionIn  = pattern.Lazy(`allowed is (\S+)|only (\d+ CPUs)|capability: "([^"]+)"`)
	mountIn   = pattern.Lazy(`mounting "([^"]+)"`)
	volumeIn  = pattern.Lazy(`volume specification: '([^']+)'|"([^"]+)" includes invalid|mount point: (\S+)|mode: (\S+)`)
	driverIn  = pattern.Lazy(`volume plugin ([^ :]+)|device driver "([^"]+)"`)
	deviceIn  = pattern.Lazy(`custom device "([^"]+)"`)
	folderIn  = pattern.Lazy(`cwd \("([^"]+)"\)|mkdir:? (\S+?):? is not`)
	runtimeIn = pattern.Lazy(`runtime (?:specified|name:?) "?([^ "]+)`)
	imageIn   = pattern.Lazy(`image: ([^ ]+)$`)
	networkIn = pattern.Lazy(`network (\S+) not found`)
	podIn     = pattern.Lazy(`[Cc]ontainer (\S+) is `)
)

const (
	otherProg   = "correct `command` or `entrypoint`"
	noProgram   = "the image has no program %s"
	lowerUlimit = "lower it, or raise the limit of the engine there"
	noRuntime   = "configure it in the engine there, or leave --runtime out"
)

// rejections are the engine's messages for a faulty spec, the specific ones before the general. The engine has no codes
// for them; the texts are those of 20.10 and later versions.
var rejections = []rejected{
	{[]string{"port is already allocated"}, "PortTaken", runtime.FreePort, "port %s is in use", portIn},
	{[]string{"address already in use"}, "PortTaken", runtime.FreePort, "port %s is in use", portIn},
	{[]string{"cannot assign requested address"}, "AddressNotFound",
		"name an address of {node} in `ports`, or leave it out", "the address %s isn't one of {node}", addressIn},
	{[]string{"bind source path does not exist"}, "MountNotFound",
		"create it there, and Tend continues; or correct `volumes` and apply",
		"the host path %s does not exist on {node}", pathIn},
	{[]string{"error setting rlimit"}, "UlimitTooHigh", lowerUlimit,
		"a limit in ulimits is higher than {node} allows", nil},
	{[]string{"sysctl \"", "\" is not "}, "InvalidOption", "set it on {node} itself, or leave --sysctl out",
		"a container can't set the sysctl %s: only net.* and a few of kernel.* are its own", sysctlIn},
	{[]string{"write sysctl key", "no such file or directory"}, "InvalidOption", "correct --sysctl",
		"the kernel of {node} has no sysctl %s", sysctlIn},
	{[]string{"open /proc/sys/", "no such file or directory"}, "InvalidOption", "correct --sysctl",
		"the kernel of {node} has no sysctl %s", sysctlIn},
	{[]string{"minimum memory limit allowed"}, "InvalidOption", nextstep.RaiseMemory,
		"the memory limit is lower than what Docker needs: %s", optionIn},
	{[]string{"range of cpus is from"}, "InvalidOption", "lower `resources.limits.cpu`",
		"the CPU limit is higher than what {node} has: %s", optionIn},
	{[]string{"unknown capability"}, "InvalidOption", "correct `cap_add` and `cap_drop`",
		"there is no capability %s", optionIn},
	{[]string{"not a directory", "mount"}, "InvalidMount", "mount a file on a file and a folder on a folder",
		"the mount of %s puts a file on a folder, or a folder on a file", mountIn},
	{[]string{"invalid mount config"}, "InvalidMount", "correct `volumes`", "", nil},
	{[]string{"invalid volume specification"}, "InvalidMount", "write source:target[:mode] with an absolute target",
		"volumes has an entry that names no mount: %s", volumeIn},
	{[]string{"invalid characters for a local volume name"}, "InvalidMount", "correct `volumes`",
		"volumes has a source that is neither an absolute path nor a volume's name: %s", volumeIn},
	{[]string{"duplicate mount point"}, "InvalidMount", "mount it once",
		"volumes has two mounts at the target %s", volumeIn},
	{[]string{"invalid mode"}, "InvalidMount", "write ro or rw", "a mount in volumes has an unknown mode: %s", volumeIn},
	{[]string{"error while mounting volume"}, "MountFailed", "check the volume's driver and options", "", nil},
	{[]string{"error looking up volume plugin"}, "VolumeDriverNotFound", "install it there, or use another driver",
		"{node} has no volume driver %s", driverIn},
	{[]string{"unable to find user"}, "UserNotFound", runtime.CorrectUser, "the image has no user %s", userIn},
	{[]string{"unable to find group"}, "GroupNotFound", runtime.CorrectUser, "the image has no group %s", userIn},
	{[]string{"no matching entries in passwd file"}, "UserNotFound", runtime.CorrectUser,
		"the image has no user of that name", nil},
	{[]string{"executable file not found"}, "CommandNotFound", otherProg, noProgram, programIn},
	{[]string{"exec:", "no such file or directory"}, "CommandNotFound", otherProg, noProgram, programIn},
	{[]string{"no command specified"}, "CommandNotFound", "set `command`", "the image names no command", nil},
	{[]string{"exec:", "permission denied"}, "CommandNotExecutable",
		"correct `command`; if it is a file: chmod +x in the image",
		"%s can't be run: it isn't executable, or is a folder", programIn},
	{[]string{"exec format error"}, "CommandNotExecutable",
		"use an image for that processor; if it is a script: begin it with #!/bin/sh",
		"the program %s is not made for the processor of {node}, or is a script without #!", programIn},
	{[]string{"exec:", "is a directory"}, "CommandNotExecutable", otherProg,
		"%s is a folder of the image, not a program", programIn},
	{[]string{"error gathering device information"}, "DeviceNotFound", "correct `devices`",
		"{node} has no device %s", deviceIn},
	{[]string{"could not select device driver"}, "DeviceNotFound", "install it there",
		"{node} has no device driver %s", driverIn},
	{[]string{"chdir to cwd", "permission denied"}, "InvalidWorkingDir", "correct `working_dir` or `user`",
		"the container's user may not enter the folder %s", folderIn},
	{[]string{"chdir to cwd"}, "InvalidWorkingDir", "correct `working_dir`",
		"the image has no folder %s to run in", folderIn},
	{[]string{"cannot mkdir", "is not a directory"}, "InvalidWorkingDir", "correct `working_dir`",
		"the working directory %s is a file of the image, not a folder", folderIn},
	{[]string{"unknown runtime specified"}, "RuntimeNotFound", noRuntime,
		"the engine of {node} has no runtime %s", runtimeIn},
	{[]string{"unknown or invalid runtime name"}, "RuntimeNotFound", noRuntime,
		"the engine of {node} has no runtime %s", runtimeIn},
	{[]string{"is not running"}, "NotRunning", "tend get pods shows its state",
		"the container %s is not running", podIn},
	{[]string{"container", "is paused"}, "NotRunning", "docker unpause it on {node}",
		"the container %s is paused", podIn},
	{[]string{"invalid reference format"}, "InvalidReference", "write `image` as [registry/]name[:tag]", "", nil},
	{[]string{"no such image"}, "ImageNotFound", "build or pull it there, or correct `image`",
		"{node} has no image %s", imageIn},
	{[]string{"network", "not found"}, "NetworkNotFound", "create it there, or take it out of `networks`",
		"the network %s doesn't exist on {node}", networkIn},
	{[]string{"user specified ip address is supported"}, "InvalidOption",
		"leave --ip out, or use a network with a subnet of its own", "", nil},
}
