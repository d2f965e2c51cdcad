package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/distribution/reference"

	"tend.dev/tend/internal/node/runtime"
)

func TestFault(t *testing.T) {
	tests := map[string]struct {
		reason string
		err    error
		is     error  // what errors.Is finds, or
		word   string // the RejectedError's reason
		says   string // its detail, where that is in our words
	}{
		"cancelled": {"the caller's own doing", context.Canceled, context.Canceled, "", ""},
		"cut":       {"the engine went in mid-answer", io.ErrUnexpectedEOF, runtime.ErrUnavailable, "", ""},
		"starting":  {"the engine is not up yet", cerrdefs.ErrUnavailable, runtime.ErrUnavailable, "", ""},
		"not found": {"nothing there", cerrdefs.ErrNotFound.WithMessage("No such container: x"), runtime.ErrNotFound, "", ""},
		"bad": {"what the engine calls invalid is refused", cerrdefs.ErrInvalidArgument.WithMessage("odd"), nil,
			"InvalidOption", ""},
		"port": {"another container's", errors.New("driver failed programming external connectivity on endpoint a (b): " +
			"Bind for 127.0.0.1:80 failed: port is already allocated"), nil, "PortTaken", "port 127.0.0.1:80 is in use"},
		"proxy": {"a process's",
			errors.New("Error starting userland proxy: listen tcp4 127.0.0.1:18861: bind: address already in use"),
			nil, "PortTaken", "port 127.0.0.1:18861 is in use"},
		"mount": {"a host path",
			errors.New(`invalid mount config for type "bind": bind source path does not exist: /srv/no such`),
			nil, "MountNotFound", "the host path /srv/no such does not exist on node n1"},
		"program": {"a command",
			errors.New(`OCI runtime create failed: runc create failed: exec: "/nosuch": stat /nosuch: no such file or directory: unknown`),
			nil, "CommandNotFound", "the image has no program /nosuch"},
		"denied": {"a file without x", errors.New(`OCI runtime create failed: exec: "/etc/app": permission denied: unknown`),
			nil, "CommandNotExecutable", "/etc/app can't be run: it isn't executable, or is a folder"},
		"processor": {"another processor's",
			errors.New(`standard_init_linux.go:228: exec user process caused: exec format error`),
			nil, "CommandNotExecutable", "the program is not made for the processor of node n1, or is a script without #!"},
		"plugin": {"a driver that is missing", errors.New("error looking up volume plugin nope: plugin not found"), nil,
			"VolumeDriverNotFound", "node n1 has no volume driver nope"},
		"user": {"no entry of that name", errors.New("unable to find user nobody-here: no matching entries in passwd file"),
			nil, "UserNotFound", "the image has no user nobody-here"},
		"address": {"another machine's", errors.New("driver failed programming external connectivity on endpoint a (b): " +
			"Error starting userland proxy: listen tcp4 10.9.9.9:80: bind: cannot assign requested address"), nil,
			"AddressNotFound", "the address 10.9.9.9 isn't one of node n1"},
		"new address": {"in the words of later engines", errors.New("failed to bind host port for 10.9.9.9:80:" +
			"172.17.0.2:80/tcp: " +
			"cannot assign requested address"), nil, "AddressNotFound", "the address 10.9.9.9 isn't one of node n1"},
		"device": {"a name that /dev lacks", errors.New(`error gathering device information while adding custom device ` +
			`"/dev/nope": no such file or directory`), nil, "DeviceNotFound", "node n1 has no device /dev/nope"},
		"driver": {"--gpus without one", errors.New(`could not select device driver "" with capabilities: [[gpu]]`), nil,
			"DeviceNotFound", "node n1 has no device driver"},
		"folder": {"working_dir", errors.New(`runc create failed: chdir to cwd ("/nosuch") set in config.json failed: ` +
			`no such file or directory`), nil, "InvalidWorkingDir", "the image has no folder /nosuch to run in"},
		"no command": {"an image without one", cerrdefs.ErrInvalidArgument.WithMessage("No command specified"), nil,
			"CommandNotFound", "the image names no command"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := onN1.fault("try", test.err)
			if test.is != nil && !errors.Is(got, test.is) {
				t.Errorf("%s: %v is not %v", test.reason, got, test.is)
			}
			var rejected *runtime.RejectedError
			if test.word != "" && (!errors.As(got, &rejected) || rejected.Reason != test.word || rejected.Next == "") {
				t.Errorf("%s: %#v, want %s with a next step", test.reason, got, test.word)
			}
			if test.says != "" && rejected.Detail != test.says {
				t.Errorf("%s: %q, want %q", test.reason, rejected.Detail, test.says)
			}
			if test.says == "" && !strings.HasPrefix(got.Error(), "try: ") {
				t.Errorf("%s: %q does not say what was tried", test.reason, got)
			}
		})
	}
	odd := fmt.Errorf("Error response from daemon: failed to create shim task: OCI runtime create failed: "+
		"runc create failed: odd: %w: unknown", os.ErrInvalid)
	if got := fault("try", odd); got.Error() != "try: odd: invalid argument" || !errors.Is(got, os.ErrInvalid) {
		t.Errorf("an error that isn't known: %v", got)
	}
	if fault("try", nil) != nil {
		t.Error("nil counted as a fault")
	}
	var transient *runtime.TransientError
	if err := fault("try", errors.New("write /x: no space left on device")); !errors.As(err, &transient) ||
		transient.Reason != "DiskFull" || transient.Detail != "try failed: this machine has no disk space left" {
		t.Errorf("a full disk passes: %v", err)
	}
}

func TestPullFault(t *testing.T) {
	tests := map[string]struct {
		reason, text, want string
		transient          bool
		says               string
	}{
		"hub": {"docker hub hides what is private",
			"pull access denied for web, repository does not exist or may require 'docker login'", "Unauthorized", false,
			"shop.example has no public image web:2"},
		"rate": {"a limit passes", "toomanyrequests: You have reached your pull rate limit", "RateLimited", true,
			"shop.example limits how often node n1 may pull"},
		"dns": {"a name may come back", "dial tcp: lookup shop on 10.0.0.1:53: no such host",
			"RegistryUnreachable", true, "node n1 can't pull shop.example/web:2: its DNS knows no host shop.example"},
		"certificate": {"a person has to install it", "x509: certificate signed by unknown authority",
			"UntrustedRegistry", false,
			"node n1 doesn't trust the certificate of shop.example: certificate signed by unknown authority"},
		"plain": {"a person has to list it", "http: server gave HTTP response to HTTPS client",
			"InsecureRegistry", false, "shop.example speaks plain HTTP, and the engine of node n1 wants HTTPS"},
		"processor": {"another image is needed", "no matching manifest for linux/amd64 in the manifest list entries",
			"WrongPlatform", false,
			"shop.example/web:2 has no version for the platform of node n1: linux/amd64"},
		"refused": {"nothing listens there",
			`Get "http://shop.example/v2/": dial tcp 10.0.0.2:80: connect: connection refused`,
			"RegistryUnreachable", true, "node n1 can't pull shop.example/web:2: shop.example refuses connections"},
		"confined": {"the words of the table alone", "no matching manifest", "WrongPlatform", false,
			"shop.example/web:2 has no version for the platform of node n1"},
		"gone": {"the registry answers", "manifest for shop.example/web:2 not found: manifest unknown", "ImageNotFound",
			false, "shop.example has no image web:2"},
		"cut": {"the next try may get through", "unexpected EOF while reading layer", "PullInterrupted", true,
			"the connection to shop.example broke while node n1 pulled shop.example/web:2"},
		"unknown": {"an unknown fault is tried again", "moon in the wrong phase", "PullFailed", true,
			"node n1 can't pull shop.example/web:2: moon in the wrong phase"},
	}
	named, err := reference.ParseNormalizedNamed("shop.example/web:2")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := pullFault("node n1", "image", named, errors.New(test.text))
			var rejected *runtime.RejectedError
			var transient *runtime.TransientError
			switch {
			case errors.As(got, &rejected) && !test.transient && rejected.Reason == test.want && rejected.Next != "":
			case errors.As(got, &transient) && test.transient && transient.Reason == test.want && transient.Next != "":
			default:
				t.Errorf("%s: %#v, want %s (transient %v)", test.reason, got, test.want, test.transient)
			}
			if !strings.HasPrefix(got.Error(), test.says+" (") || strings.ContainsAny(got.Error(), "%{}") {
				t.Errorf("%s: %q, want %q with nothing left to fill in", test.reason, got, test.says)
			}
		})
	}
}

// TestARegistryOnTheNode: an address of the machine that wrote the manifest is the node's own where it pulls.
func TestARegistryOnTheNode(t *testing.T) {
	for image, want := range map[string]string{
		"127.0.0.1:1/web:1":    "127.0.0.1:1 (node n1 itself) refuses connections",
		"localhost:5000/web:1": "localhost:5000 (node n1 itself) refuses connections",
		"localhost/web:1":      "localhost (node n1 itself) refuses connections",
		"10.0.0.2:5000/web:1":  "10.0.0.2:5000 refuses connections",
		"local.test:5000/web":  "local.test:5000 refuses connections",
	} {
		named, err := reference.ParseNormalizedNamed(image)
		if err != nil {
			t.Fatal(err)
		}
		got := pullFault("node n1", "image", named, errors.New("dial tcp: connection refused"))
		if !strings.Contains(got.Error(), want) {
			t.Errorf("%s: %q does not say %q", image, got, want)
		}
	}
}
