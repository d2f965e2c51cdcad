package kubetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The controllers of Flux. Each is the user with its name and impersonates nobody: the helm-controller takes an
// impersonated user for a service account, and uninstalls nothing if that account doesn't exist.
const (
	sourceController = "source-controller"
	helmController   = "helm-controller"
)

// StartFlux starts the real source-controller and helm-controller, as built by `make flux-controllers`, for all
// namespaces. They end with the server. authority, in PEM, may sign certificates of HTTPS repositories.
func (s *Server) StartFlux(authority []byte) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	server, err := url.Parse(s.Config.Host)
	if err != nil {
		return err
	}
	trusted, storage, work := filepath.Join(s.dir, "authority.crt"), filepath.Join(s.dir, "artifacts"), filepath.Join(s.dir, "flux")
	artifacts := net.JoinHostPort(server.Hostname(), "9090")
	if err := errors.Join(
		os.WriteFile(trusted, authority, 0o600), os.Mkdir(storage, 0o700), os.Mkdir(work, 0o700),
	); err != nil {
		return err
	}
	for name, more := range map[string][]string{
		sourceController: {"--storage-path=" + storage, "--storage-addr=" + artifacts, "--storage-adv-addr=" + artifacts},
		helmController:   {"--requeue-dependency=2s"}, // the interval for a chart that is not ready
	} {
		binary := filepath.Join(root, "bin", "flux", name)
		if _, err := os.Stat(binary); err != nil {
			return fmt.Errorf("%w: run `make flux-controllers`, which takes a quarter of an hour the first time", err)
		}
		kubeconfig := filepath.Join(s.dir, name+".kubeconfig")
		if err := s.writeKubeconfig(kubeconfig, clientcmdapi.AuthInfo{Token: s.tokens[name]}); err != nil {
			return err
		}
		args := append([]string{
			"--metrics-addr=0", "--health-addr=0", "--log-level=info", "--min-retry-delay=250ms", "--max-retry-delay=2s",
		}, more...)
		env := []string{"KUBECONFIG=" + kubeconfig, "SSL_CERT_FILE=" + trusted, "RUNTIME_NAMESPACE=flux-system", "TMPDIR=" + work, "HOME=" + work}
		started, err := launch(binary, filepath.Join(s.dir, name+".log"), args, env...)
		if err != nil {
			return err
		}
		s.flux = append(s.flux, started)
	}
	return s.serves(artifacts)
}

// serves waits until the source-controller serves artifacts.
func (s *Server) serves(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		for _, p := range s.flux {
			if err := p.alive(); err != nil {
				return false, fmt.Errorf("%w\n%s", err, p.lastLines())
			}
		}
		var dialer net.Dialer
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return false, nil //nolint:nilerr // it doesn't listen yet
		}
		return true, connection.Close()
	})
}

// FluxLog returns the ends of the logs of Flux's controllers.
func (s *Server) FluxLog() (all []byte) {
	for _, p := range s.flux {
		all = append(append(all, p.lastLines()...), '\n')
	}
	return all
}
