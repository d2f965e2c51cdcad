//go:build integration

package e2e

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"tend.dev/tend/client"
)

// sshHost is an SSH server on loopback in front of the machine: a client with its key runs commands in the machine's
// environment.
type sshHost struct {
	m      *machine
	port   int
	folder string // of the client's key, its known hosts, and an ssh that uses them
	config *ssh.ServerConfig
}

// sshServer starts an SSH server. The ssh client is the system's.
func (m *machine) sshServer() *sshHost {
	m.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		m.Fatal("these tests need ssh: install openssh-client")
	}
	h := &sshHost{m: m, folder: m.TempDir(), config: &ssh.ServerConfig{}}
	mine, _ := h.key("key")
	_, host := h.key("host_key")
	h.config.AddHostKey(host)
	h.config.PublicKeyCallback = func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(mine.Marshal()) {
			return nil, fmt.Errorf("another key")
		}
		return &ssh.Permissions{}, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { _ = listener.Close() })
	h.port = listener.Addr().(*net.TCPAddr).Port
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go h.serve(conn)
		}
	}()
	real, _ := exec.LookPath("ssh")
	known := fmt.Sprintf("[127.0.0.1]:%d %s", h.port, ssh.MarshalAuthorizedKey(host.PublicKey()))
	h.write("known_hosts", known, 0o600)
	h.write("ssh",
		fmt.Sprintf("#!/bin/sh\nexec %s -F none -i %s/key -o BatchMode=yes -o IdentitiesOnly=yes -o UserKnownHostsFile=%s/known_hosts \"$@\"\n",
			real, h.folder, h.folder), 0o755)
	return h
}

func (h *sshHost) write(name, text string, mode os.FileMode) {
	h.m.Helper()
	if err := os.WriteFile(filepath.Join(h.folder, name), []byte(text), mode); err != nil {
		h.m.Fatal(err)
	}
}

// key makes a key pair whose private half lies in the folder.
func (h *sshHost) key(name string) (ssh.PublicKey, ssh.Signer) {
	h.m.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		h.m.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		h.m.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		h.m.Fatal(err)
	}
	h.write(name, string(pem.EncodeToMemory(block)), 0o600)
	return signer.PublicKey(), signer
}

// serve runs the commands of one connection.
func (h *sshHost) serve(conn net.Conn) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, h.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for wanted := range channels {
		if wanted.ChannelType() != "session" {
			_ = wanted.Reject(ssh.UnknownChannelType, "sessions alone")
			continue
		}
		channel, requests, err := wanted.Accept()
		if err != nil {
			return
		}
		go h.session(channel, requests)
	}
}

// session runs one command as a login shell on the remote machine would: tend is on its PATH.
func (h *sshHost) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for request := range requests {
		var wanted struct{ Command string }
		isExec := request.Type == "exec" && ssh.Unmarshal(request.Payload, &wanted) == nil
		_ = request.Reply(isExec, nil)
		if !isExec {
			continue
		}
		shell := exec.Command("/bin/sh", "-c", wanted.Command)
		shell.Env = append(os.Environ(), "TEND_ROOT="+h.m.root, "PATH="+filepath.Dir(tendBinary)+":"+
			os.Getenv("PATH"), "NO_COLOR=1")
		input, err := shell.StdinPipe()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(input, channel)
			_ = input.Close()
		}()
		shell.Stdout, shell.Stderr = channel, channel.Stderr()
		_ = shell.Run() // its exit code is passed on
		status := struct{ Code uint32 }{uint32(shell.ProcessState.ExitCode())}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
		return
	}
}

// away runs a shell line on a machine that has ssh and tend, and no server of its own.
func (h *sshHost) away(line string) cliResult {
	h.m.Helper()
	shell := exec.CommandContext(h.m.Context(), "/bin/sh", "-c", line)
	shell.Env = append(os.Environ(), "PATH="+h.folder+":"+filepath.Dir(tendBinary)+":"+os.Getenv("PATH"), "NO_COLOR=1",
		"TEND_ROOT="+h.folder, fmt.Sprintf("TEND_SERVER=ssh://tester@127.0.0.1:%d", h.port))
	output, _ := shell.CombinedOutput() // its exit code is the result
	return cliResult{code: shell.ProcessState.ExitCode(), output: string(output)}
}

// TestBuildOverSSH: SSH is the only listener, for tend's own client and for a tar in a pipe. Of the tar its content
// alone counts; one that lies, breaks off or is empty is refused.
func TestBuildOverSSH(t *testing.T) {
	m := newMachine(t).start()
	h := m.sshServer()
	s := m.source(sourceManifest)
	m.wantSaid(h.away("tend apply -f "+filepath.Join(s.folder, "tend.hcl")), 0, "sending the source", "Step 2/",
		"1 of 1 replicas run v1")
	first := m.releaseOf("app")
	m.wantSaid(h.away("tend get deployments"), 0, "app")
	m.wantSaid(h.away("tend logs "+m.scope+"/app --tail 1"), 0)

	receive := fmt.Sprintf("| ssh -p %d tester@127.0.0.1 tend receive-pack %s/app", h.port, m.scope)
	m.wantSaid(h.away("tar -cz -C "+s.folder+" . "+receive), 0, "is made of build", "deployment/"+m.scope+"/app")
	if again := m.releaseOf("app"); again != first {
		t.Errorf("the same source over a pipe is %s, not %s", again, first)
	}
	s.write("page", "two", 0o644)
	m.wantSaid(h.away("tar -cz -C "+s.folder+" . "+receive), 0, "Step 2/2 : ", "run v2")
	second := m.releaseOf("app")
	m.wantSaid(h.away("tar -c --owner=7 --mtime=2001-01-01 -C "+s.folder+" . "+receive), 0)
	if m.releaseOf("app") != second {
		t.Error("times, owners and compression made another build")
	}
	m.wantSaid(h.away("tar -c -P -C / etc/hostname --transform s,^,../, "+receive), 1, "leads out of the tree")
	m.wantSaid(h.away("true "+receive), 1, "no file came")
	m.wantSaid(h.away(strings.Replace("true "+receive, "/app", "/none", 1)), 1)
	cut := h.away("tar -cz -C " + s.folder + " . | head -c 400000 " + receive)
	m.wantSaid(cut, 1, "unexpected EOF")
	if list, err := m.client.Releases(t.Context(), client.Target{Kind: m.kind, Scope: m.scope, Name: "app"}); err != nil ||
		len(list.Items) != 2 {
		t.Errorf("an upload that was cut off made a release: %v, %v", list, err)
	}

	unknown := *h
	unknown.folder = t.TempDir()
	unknown.key("key")
	script, err := os.ReadFile(filepath.Join(h.folder, "ssh"))
	if err != nil {
		t.Fatal(err)
	}
	unknown.write("ssh", strings.ReplaceAll(string(script), h.folder+"/key", unknown.folder+"/key"), 0o755)
	m.wantSaid(unknown.away("tend get deployments"), 1, "Permission denied", "has to work without a question first")
}
