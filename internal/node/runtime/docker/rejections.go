package docker

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"tend.dev/tend/api/pattern"
)

// rejected is a row of the table: words that must all be in the engine's message, and their meaning.
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
	pathIn    = pattern.Lazy(`does not exist: (.+?)"?$`)
	programIn = pattern.Lazy(`exec: "([^"]+)"|exec ([^ :]+): exec format`)
)

func (r rejected) sentence(detail string) string {
	if !strings.Contains(r.say, "%s") {
		return r.say
	}
	named := ""
	if found := r.find().FindStringSubmatch(detail); found != nil {
		named = cmp.Or(found[1:]...)
	}
	return strings.Join(strings.Fields(fmt.Sprintf(r.say, named)), " ")
}

// rejections are the engine's messages for a faulty spec, the specific ones before the general. The engine has no codes
// for them; the texts are those of 20.10 and later versions.
var rejections = []rejected{
	{[]string{"port is already allocated"}, "PortTaken", "stop it, or change `ports`; Tend retries",
		"port %s is in use", portIn},
	{[]string{"address already in use"}, "PortTaken", "stop it, or change `ports`; Tend retries",
		"port %s is in use", portIn},
	{[]string{"cannot assign requested address"}, "AddressNotFound",
		"name an address of this node in ports, or leave it out", "", nil},
	{[]string{"bind source path does not exist"}, "MountNotFound",
		"create it on the node, or correct `volumes`; Tend retries", "the host path %s does not exist", pathIn},
	{[]string{"error setting rlimit"}, "UlimitTooHigh",
		"lower ulimits to the node's hard limit, or raise that limit for the engine", "", nil},
	{[]string{"error setting rlimits"}, "UlimitTooHigh",
		"lower ulimits to the node's hard limit, or raise that limit for the engine", "", nil},
	{[]string{"sysctl \"", "\" is not "}, "InvalidOption",
		"set it on the node itself, or leave --sysctl out: a container has its own net.* and a few of kernel.* alone", "", nil},
	{[]string{"write sysctl key", "no such file or directory"}, "InvalidOption",
		"correct --sysctl: the node's kernel has no such key", "", nil},
	{[]string{"not a directory", "mount"}, "InvalidMount", "mount a file on a file and a folder on a folder", "", nil},
	{[]string{"invalid mount config"}, "InvalidMount", "correct volumes", "", nil},
	{[]string{"invalid volume specification"}, "InvalidMount",
		"write source:target[:mode] with an absolute target", "", nil},
	{[]string{"invalid characters for a local volume name"}, "InvalidMount",
		"use an absolute path or a volume's name", "", nil},
	{[]string{"duplicate mount point"}, "InvalidMount", "mount each target once", "", nil},
	{[]string{"invalid mode"}, "InvalidMount", "use ro or rw as a mount's mode", "", nil},
	{[]string{"error while mounting volume"}, "MountFailed", "check the volume's driver and options", "", nil},
	{[]string{"error looking up volume plugin"}, "VolumeDriverNotFound",
		"install the volume driver on the node, or use another one", "", nil},
	{[]string{"unable to find user"}, "UserNotFound", "use a user of the image, or a number", "", nil},
	{[]string{"unable to find group"}, "GroupNotFound", "use a group of the image, or a number", "", nil},
	{[]string{"no matching entries in passwd file"}, "UserNotFound", "use a user of the image, or a number", "", nil},
	{[]string{"executable file not found"}, "CommandNotFound", "correct `command` or `entrypoint`",
		"the image has no program %s", programIn},
	{[]string{"exec:", "no such file or directory"}, "CommandNotFound", "correct `command` or `entrypoint`",
		"the image has no program %s", programIn},
	{[]string{"no command specified"}, "CommandNotFound", "set `command`", "the image names no command", nil},
	{[]string{"exec:", "permission denied"}, "CommandNotExecutable",
		"make it executable in the image (chmod +x), or run it by an interpreter",
		"permission denied: %s is not executable", programIn},
	{[]string{"exec format error"}, "CommandNotExecutable", "use an image for this node's processor",
		"the program %s is for another processor, or no program", programIn},
	{[]string{"exec:", "is a directory"}, "CommandNotExecutable", "correct `command` or `entrypoint`",
		"%s is a folder of the image, not a program", programIn},
	{[]string{"error gathering device information"}, "DeviceNotFound",
		"correct devices; the node has no such device", "", nil},
	{[]string{"could not select device driver"}, "DeviceNotFound", "install the device's driver on the node", "", nil},
	{[]string{"chdir to cwd"}, "InvalidWorkingDir", "correct working_dir", "", nil},
	{[]string{"cannot mkdir", "is not a directory"}, "InvalidWorkingDir",
		"correct working_dir; it names a file of the image", "", nil},
	{[]string{"unknown runtime specified"}, "RuntimeNotFound",
		"configure the runtime in the engine, or leave --runtime out", "", nil},
	{[]string{"unknown or invalid runtime name"}, "RuntimeNotFound",
		"configure the runtime in the engine, or leave --runtime out", "", nil},
	{[]string{"is not running"}, "NotRunning", "start the container first", "", nil},
	{[]string{"container", "is paused"}, "NotRunning", "unpause the container first", "", nil},
	{[]string{"invalid reference format"}, "InvalidReference", "write the image as [registry/]name[:tag]", "", nil},
	{[]string{"no such image"}, "ImageNotFound", "build or pull the image on this node", "", nil},
	{[]string{"network", "not found"}, "NetworkNotFound",
		"create the network on this node, or take it out of networks", "", nil},
	{[]string{"user specified ip address is supported"}, "InvalidOption",
		"leave --ip out, or use a network with a subnet of its own", "", nil},
}
