package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"tend.dev/tend/internal/runtime"
)

// fault says what an error of the engine means to the runtime's callers. Nil stays nil.
func fault(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", operation, err)
	case unavailable(err):
		return fmt.Errorf("%s: %w: %w", operation, runtime.ErrUnavailable, err)
	}
	detail := engineText(err)
	if containsAll(detail, []string{"no space left on device"}) {
		return &runtime.TransientError{Reason: "DiskFull", Detail: operation + ": " + detail, Next: "free space on the node"}
	}
	if rejected := rejection(operation, detail); rejected != nil {
		return rejected
	}
	switch {
	case cerrdefs.IsNotFound(err):
		return fmt.Errorf("%s: %w: %s", operation, runtime.ErrNotFound, detail)
	case cerrdefs.IsInvalidArgument(err):
		return &runtime.RejectedError{Reason: "InvalidOption", Detail: operation + ": " + detail, Next: "correct the manifest and apply it again"}
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// unavailable is an engine that can't be reached, or that went away in the middle of an answer.
func unavailable(err error) bool {
	return client.IsErrConnectionFailed(err) || cerrdefs.IsUnavailable(err) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// engineText is the engine's message without the library's preface, bounded.
func engineText(err error) string {
	text := strings.TrimPrefix(err.Error(), "Error response from daemon: ")
	const limit = 2 << 10
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	return text
}

// rejection finds the engine's words in the table; nil where the spec is not known to be at fault.
func rejection(operation, detail string) *runtime.RejectedError {
	for _, row := range rejections {
		if containsAll(detail, row.words) {
			return &runtime.RejectedError{Reason: row.reason, Detail: operation + ": " + detail, Next: row.next}
		}
	}
	return nil
}

func containsAll(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// rejections are the engine's words for a spec at fault, the specific before the general. The engine has no codes for
// them; the words are those of 20.10 and of its successors.
var rejections = []struct {
	words  []string
	reason string
	next   string
}{
	{[]string{"port is already allocated"}, "PortTaken", "stop what holds the port, or choose another one in ports"},
	{[]string{"address already in use"}, "PortTaken", "stop what holds the port, or choose another one in ports"},
	{[]string{"cannot assign requested address"}, "AddressNotFound", "name an address of this node in ports, or leave it out"},
	{[]string{"bind source path does not exist"}, "MountNotFound", "create the path on the node, or correct the mount"},
	{[]string{"error setting rlimit"}, "UlimitTooHigh", "lower ulimits to the node's hard limit, or raise that limit for the engine"},
	{[]string{"error setting rlimits"}, "UlimitTooHigh", "lower ulimits to the node's hard limit, or raise that limit for the engine"},
	{[]string{"not a directory", "mount"}, "InvalidMount", "mount a file on a file and a folder on a folder"},
	{[]string{"invalid mount config"}, "InvalidMount", "correct volumes"},
	{[]string{"invalid volume specification"}, "InvalidMount", "write source:target[:mode] with an absolute target"},
	{[]string{"invalid characters for a local volume name"}, "InvalidMount", "use an absolute path or a volume's name"},
	{[]string{"duplicate mount point"}, "InvalidMount", "mount each target once"},
	{[]string{"invalid mode"}, "InvalidMount", "use ro or rw as a mount's mode"},
	{[]string{"error while mounting volume"}, "MountFailed", "check the volume's driver and options"},
	{[]string{"error looking up volume plugin"}, "VolumeDriverNotFound", "install the volume driver on the node, or use another one"},
	{[]string{"unable to find user"}, "UserNotFound", "use a user of the image, or a number"},
	{[]string{"unable to find group"}, "GroupNotFound", "use a group of the image, or a number"},
	{[]string{"no matching entries in passwd file"}, "UserNotFound", "use a user of the image, or a number"},
	{[]string{"executable file not found"}, "CommandNotFound", "correct command or entrypoint; the image has no such program"},
	{[]string{"exec:", "no such file or directory"}, "CommandNotFound", "correct command or entrypoint; the image has no such program"},
	{[]string{"no command specified"}, "CommandNotFound", "set command; the image names none"},
	{[]string{"exec:", "permission denied"}, "CommandNotExecutable", "make the program executable in the image, or run it by an interpreter"},
	{[]string{"exec format error"}, "CommandNotExecutable", "use an image for this node's processor"},
	{[]string{"exec:", "is a directory"}, "CommandNotExecutable", "correct command or entrypoint; it names a folder"},
	{[]string{"error gathering device information"}, "DeviceNotFound", "correct devices; the node has no such device"},
	{[]string{"could not select device driver"}, "DeviceNotFound", "install the device's driver on the node"},
	{[]string{"chdir to cwd"}, "InvalidWorkingDir", "correct working_dir"},
	{[]string{"cannot mkdir", "is not a directory"}, "InvalidWorkingDir", "correct working_dir; it names a file of the image"},
	{[]string{"unknown runtime specified"}, "RuntimeNotFound", "configure the runtime in the engine, or leave --runtime out"},
	{[]string{"unknown or invalid runtime name"}, "RuntimeNotFound", "configure the runtime in the engine, or leave --runtime out"},
	{[]string{"is not running"}, "NotRunning", "start the container first"},
	{[]string{"container", "is paused"}, "NotRunning", "unpause the container first"},
	{[]string{"invalid reference format"}, "InvalidReference", "write the image as [registry/]name[:tag]"},
	{[]string{"no such image"}, "ImageNotFound", "build or pull the image on this node"},
	{[]string{"network", "not found"}, "NetworkNotFound", "create the network on this node, or take it out of networks"},
	{[]string{"user specified ip address is supported"}, "InvalidOption", "leave --ip out, or use a network with a subnet of its own"},
}
