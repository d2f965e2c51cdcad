package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// arguments returns the arguments of kube-apiserver. Admission of service accounts is off, because no controller
// creates any.
func arguments(dir string, host net.IP, port string) []string {
	in := func(name string) string { return filepath.Join(dir, name) }
	return []string{
		"--etcd-servers=unix://" + in("etcd/client.sock"),
		"--bind-address=" + host.String(), "--secure-port=" + port, "--advertise-address=" + host.String(),
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/24",
		"--tls-cert-file=" + in(certificateFile), "--tls-private-key-file=" + in(keyFile),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + in(keyFile),
		"--service-account-signing-key-file=" + in(keyFile), "--disable-admission-plugins=ServiceAccount",
		"--token-auth-file=" + in(tokenFile), "--authorization-mode=RBAC",
		"--audit-policy-file=" + in(policyFile), "--audit-log-path=" + in(auditFile), "--audit-log-mode=blocking",
		"--audit-log-maxsize=0", "--enable-priority-and-fairness=false", "--profiling=false", "--v=1",
	}
}

// locate returns the path of the binary.
func locate() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(root, "bin", "kube-apiserver")
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("%w: run `make kube-apiserver`, which takes some minutes the first time", err)
	}
	return binary, nil
}

// moduleRoot returns the folder of Tend's go.mod: tests run in their package's folder.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && bytes.HasPrefix(text, []byte("module tend.dev/tend\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod of tend.dev/tend here or above: run the tests in the repository")
		}
	}
}

// process is a running kube-apiserver, or controller.
type process struct {
	command *exec.Cmd
	log     string
	ended   chan error
}

// launch starts a binary with additional environment variables. The process ends with this one, even if this one is
// killed: the kernel ties a child to the thread that started it, so that thread is kept.
func launch(binary, log string, args []string, env ...string) (*process, error) {
	p := &process{log: log, ended: make(chan error, 1)}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	p.command = exec.CommandContext(context.Background(), binary, args...) // until end
	p.command.Env = append(os.Environ(), env...)
	p.command.Stdout, p.command.Stderr = out, out
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.command.Start()
		_ = out.Close()
		started <- err
		if err == nil {
			p.ended <- p.command.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(binary), err)
	}
	return p, nil
}

// end stops the process, and kills it if it takes too long: its data is thrown away.
func (p *process) end() error {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return nil
	case <-time.After(5 * time.Second):
	}
	_ = p.command.Process.Kill()
	<-p.ended
	return nil
}

// alive returns an error if the process has ended.
func (p *process) alive() error {
	select {
	case err := <-p.ended:
		p.ended <- err
		return fmt.Errorf("%s ended: %w", filepath.Base(p.command.Path), err)
	default:
		return nil
	}
}

// lastLines returns the end of the process's log.
func (p *process) lastLines() []byte {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-4000):]
}

// ready waits until the server answers.
func (s *Server) ready(ctx context.Context) error {
	set, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := s.process.alive(); err != nil {
			return false, err
		}
		_, err := set.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil, nil
	})
}
