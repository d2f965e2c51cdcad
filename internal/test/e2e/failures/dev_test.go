package failures

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/client"
)

// TestDev: commands in the folder of a `tend dev` find it, and its end names what it leaves.
func TestDev(t *testing.T) {
	if _, err := os.Stat(filepath.Join(client.DefaultRoot, client.SocketName)); err == nil {
		t.Fatal("a system's server runs on this machine: it would be found first")
	}
	folder := newRoot()
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o711); err != nil { // processes run as another user
		t.Fatal(err)
	}
	tend := func(args ...string) *exec.Cmd {
		command := exec.Command(tendBinary, args...)
		command.Dir, command.Env = folder,
			[]string{"HOME=" + folder, "PATH=" + os.Getenv("PATH"), "TEND_SERVER=", "TEND_ROOT="}
		return command
	}
	var said bytes.Buffer
	dev := func() *exec.Cmd {
		said.Reset()
		command := tend("dev", "--runtime", "process", "--ingress-http", "off", "--ingress-https", "off",
			"--log-level", "error")
		command.Stderr = &said
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		await(filepath.Join(folder, client.DevRoot))
		return command
	}
	end := func(command *exec.Cmd) {
		_ = command.Process.Signal(syscall.SIGINT)
		_ = command.Wait()
	}
	server := dev()
	t.Cleanup(func() { end(server) })
	manifest := "deployment \"shop\" \"web\" {\n  image = \"" + filepath.Dir(serverBinary) +
		"\"\n  command = [\"/server\"]\n}\n"
	if err := os.WriteFile(filepath.Join(folder, "web.hcl"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := tend("apply", "-f", "web.hcl").CombinedOutput(); err != nil {
		t.Fatalf("apply in the folder: %v\n%s", err, output)
	}
	end(server)
	if !regexp.MustCompile(`left running: shop-web\.[0-9a-f]{8}\n`).Match(said.Bytes()) ||
		!strings.Contains(said.String(), "other commands in "+folder+" use it") {
		t.Errorf("it said:\n%s", said.String())
	}
	server = dev()
	if output, err := tend("delete", "shop/web", "--timeout", time.Minute.String()).CombinedOutput(); err != nil {
		t.Fatalf("delete in the folder: %v\n%s", err, output)
	}
	end(server)
	if !strings.Contains(said.String(), "no pod is left running") {
		t.Errorf("it said:\n%s", said.String())
	}
}

// TestDevHelp: the defaults in the help are those that hold.
func TestDevHelp(t *testing.T) {
	command := exec.Command(tendBinary, "dev", "--help")
	command.Env = []string{"HOME=/none"}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"--root": `(default ".tend")`, "--http": `(default "off")`,
		"--ingress-http": `(default "127.0.0.1:8080")`, "--ingress-https": `(default "127.0.0.1:8443")`} {
		if !regexp.MustCompile(`(?m)^ +` + flag + ` .*` + regexp.QuoteMeta(want) + `$`).Match(output) {
			t.Errorf("%s has no %s in\n%s", flag, want, output)
		}
	}
}
