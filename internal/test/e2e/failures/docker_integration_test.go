//go:build integration

package failures

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"tend.dev/tend/internal/test/testimage"
)

// TestDocker runs scripts that need a real engine: its own messages, and the kernel.
func TestDocker(t *testing.T) { play(t, "testdata/docker", startDocker) }

// dockerImage is the image of the scripts' containers; taken is a port of the host that this process holds.
const dockerImage = "tend-failures:v1"

// startDocker is the real server on a network of its own.
var startDocker = sync.OnceValues(func() (string, engine) {
	if err := testimage.Ensure(context.Background(), "v1", dockerImage); err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	takenPort = strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	network := fmt.Sprintf("tendfail-%d", os.Getpid())
	atEnd(func() {
		listener.Close()
		_ = exec.Command("docker", "network", "rm", network).Run()
		_ = testimage.Remove(context.Background(), dockerImage)
	})
	return startServer("--runtime", "docker", "--http", "off", "--network", network, "--ingress-http", "off",
		"--ingress-https", "off"), nil
})
