package kubetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"tend.dev/tend/internal/store/etcd"
)

// Server is a running Kubernetes API server.
type Server struct {
	// Config is the connection of an administrator. To be another user, set Impersonate in a copy.
	Config *rest.Config

	dir     string
	tokens  map[string]string
	process *process
	storage *etcd.Store
	// run starts the API server.
	run func() (*process, error)
	// flux are the processes of Flux's controllers, if they run.
	flux []*process
}

var shared *Server

// Main starts the test binary's API server with kinds, runs the tests and stops the server. It returns the exit code.
func Main(m *testing.M, kinds ...Kinds) int {
	log.SetLogger(logr.Discard())
	server, err := Start(kinds...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubetest:", err)
		return 1
	}
	shared = server
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "kubetest: stop:", err)
		return 1
	}
	return code
}

// Shared returns the server that Main started.
func Shared() *Server { return shared }

// Start starts an API server with kinds, for tests that can't share the one of Main.
func Start(kinds ...Kinds) (*Server, error) {
	dir, err := os.MkdirTemp("", "kubetest-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if err := s.start(kinds); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) start(kinds []Kinds) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), startTimeout, errors.New("kube-apiserver did not get ready: is the machine overloaded?"))
	defer cancel()
	binary, err := locate()
	if err != nil {
		return err
	}
	s.storage, err = etcd.Open(ctx, etcd.Options{DataDir: filepath.Join(s.dir, "etcd"), Ballast: -1, MinFree: -1})
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	host, port := address()
	credentials, err := writeCredentials(s.dir, host)
	if err != nil {
		return err
	}
	s.tokens = credentials.tokens
	s.Config = &rest.Config{
		Host: "https://" + net.JoinHostPort(host.String(), port), BearerToken: s.tokens["admin"],
		TLSClientConfig: rest.TLSClientConfig{CAData: credentials.authority}, QPS: -1, // no limit
	}
	s.run = func() (*process, error) {
		return launch(binary, filepath.Join(s.dir, "kube-apiserver.log"), arguments(s.dir, host, port))
	}
	if s.process, err = s.run(); err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, s.process.lastLines())
	}
	return s.Install(ctx, kinds...)
}

// Kill kills the API server as a crash would. Revive starts another one at the same address, with the same data.
func (s *Server) Kill() error {
	_ = s.process.command.Process.Kill()
	err := <-s.process.ended
	s.process.ended <- err
	return nil
}

// Revive starts the killed API server again, and waits until it answers.
func (s *Server) Revive() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if s.process, err = s.run(); err != nil {
		return err
	}
	return s.ready(ctx)
}

// startTimeout bounds a start. It takes a few seconds on an idle machine.
const startTimeout = 5 * time.Minute

// Stop stops the server and removes its data.
func (s *Server) Stop() error {
	var failures []error
	for _, p := range s.flux {
		failures = append(failures, p.end())
	}
	if s.process != nil {
		failures = append(failures, s.process.end())
	}
	if s.storage != nil {
		failures = append(failures, s.storage.Close())
	}
	return errors.Join(append(failures, os.RemoveAll(s.dir))...)
}

// started counts the servers of this process.
var started atomic.Int32

// address returns an address to listen on: a loopback address that contains this process's id, and a port for each of
// its servers. Another test might take a port that was free a moment ago, and kube-apiserver can't be given an open
// listener.
func address() (host net.IP, port string) {
	id := os.Getpid() // at most 22 bits
	return net.IPv4(127, 64|byte(id>>16)&63, byte(id>>8), byte(id)), strconv.Itoa(6442 + int(started.Add(1)))
}
