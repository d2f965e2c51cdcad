package syncer

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// keygen makes a key and returns its file.
func keygen(t *testing.T, file string) string {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
		file).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	return file
}

func contentOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// sshd starts a server on loopback that takes one key, and returns its port and the line of known_hosts for it.
func sshd(t *testing.T, authorized string) (port int, known string) {
	t.Helper()
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil && os.Getuid() == 0 {
		t.Fatal(err) // where sshd puts its unprivileged half
	}
	folder := t.TempDir()
	host := keygen(t, filepath.Join(folder, "host"))
	for range 5 {
		if port, listens := sshdOn(t, folder, host, authorized); listens {
			return port, fmt.Sprintf("[127.0.0.1]:%d %s", port, contentOf(t, host+".pub"))
		}
	}
	t.Fatalf("sshd doesn't listen:\n%s", contentOf(t, filepath.Join(folder, "said")))
	return 0, ""
}

// sshdOn starts a server on a port that was free a moment ago. It returns false if the server has ended: another one
// has the port.
func sshdOn(t *testing.T, folder, host, authorized string) (port int, listens bool) {
	t.Helper()
	program := "/usr/sbin/sshd"
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: apt-get install openssh-server", err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	config := fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\n"+
		"PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nPermitRootLogin yes\nPermitUserEnvironment no\n", port, host, authorized)
	lay(t, folder, map[string]string{"config": config})
	server := exec.CommandContext(t.Context(), program, "-D", "-e", "-f", filepath.Join(folder, "config"))
	said, err := os.Create(filepath.Join(folder, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	server.Stderr = said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Wait() }()
	t.Cleanup(func() {
		_ = server.Process.Kill()
		<-ended
	})
	deadline := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(contentOf(t, said.Name()), "Server listening on 127.0.0.1") {
		select {
		case <-tick.C:
		case <-ended:
			return port, false
		case <-deadline:
			t.Fatalf("sshd doesn't listen:\n%s", contentOf(t, said.Name()))
		}
	}
	return port, true
}

// TestARepositoryOverSSH: with the key and the host's key that the sync gives, and with no others.
func TestARepositoryOverSSH(t *testing.T) {
	w, o := newWorld(t), newOrigin(t)
	keys := t.TempDir()
	key, other := keygen(t, filepath.Join(keys, "key")), keygen(t, filepath.Join(keys, "other"))
	port, known := sshd(t, key+".pub")
	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:1")})
	spec := api.SyncSpec{
		Git:    fmt.Sprintf("ssh://%s@127.0.0.1:%d%s", self.Username, port, o.bare),
		SSHKey: contentOf(t, key), KnownHosts: known,
	}
	w.want("a repository over ssh", spec, "web=web:1")
	if _, err := os.Stat(filepath.Join(w.syncer.Folder, "uid-1", keyFile)); err == nil {
		t.Error("the private key is still on the disk")
	}
	wrong := spec
	wrong.SSHKey = contentOf(t, other)
	w.wantFault("another key", wrong, api.ReasonFetchFailed, "Permission denied")
	wrong = spec
	wrong.KnownHosts = fmt.Sprintf("[127.0.0.1]:%d %s", port, contentOf(t, other+".pub"))
	w.wantFault("another host", wrong, api.ReasonFetchFailed, "Host key verification failed")
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:2")})
	w.want("the next commit", spec, "web=web:2")
}
