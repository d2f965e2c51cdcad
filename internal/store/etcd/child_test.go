package etcd_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
)

// child runs this test binary in another role, for cases that a test process doesn't survive.
func child(role string) bool {
	roles := map[string]func(o etcd.Options) error{
		"commit": childCommits, "idle": childIdles, "bare": childIsBare, "fill": childFills, "surrender": childSurrenders,
	}
	run, ok := roles[role]
	if !ok {
		return false
	}
	o := etcd.Options{DataDir: os.Getenv("TEND_ETCD_DIR"), Ballast: -1, MinFree: -1}
	if err := run(o); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	return true
}

// childCommits commits pairs on several goroutines until it is killed, and prints each that is acknowledged.
func childCommits(o etcd.Options) error {
	s, err := etcd.Open(context.Background(), o)
	if err != nil {
		return err
	}
	var output sync.Mutex
	failed := make(chan error, 1)
	start := time.Now().UnixNano() // another run writes other keys
	for worker := range 4 {
		go func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%d-%d-%d", start, worker, i)
				ops := []store.Op{put("/a/"+name, []byte(name)), put("/b/"+name, bytes.Repeat([]byte(name), 100))}
				if _, err := s.Commit(context.Background(), store.Txn{Site: "child", Do: ops}); err != nil {
					failed <- err
					return
				}
				output.Lock()
				fmt.Println(name)
				output.Unlock()
			}
		}()
	}
	return <-failed
}

// childFills fills the disk, unguarded, and prints each commit and finally why etcd gave up.
func childFills(o etcd.Options) error {
	fatal := make(chan error, 1)
	o.OnFatal = func(err error) { fatal <- err }
	s, err := etcd.Open(context.Background(), o)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		key := fmt.Sprintf("/fill/%04d", i)
		if _, err := s.Commit(context.Background(),
			store.Txn{Site: "child", Do: []store.Op{put(key, make([]byte, 1<<20))}}); err != nil {
			fmt.Println("refused:", err)
			fmt.Println("fatal:", <-fatal)
			return s.Close()
		}
		fmt.Println(key)
	}
}

// childSurrenders makes etcd give up, and prints the errors of the store's callers.
func childSurrenders(o etcd.Options) error {
	ctx := context.Background()
	fatal := make(chan error, 2)
	o.OnFatal = func(err error) { fatal <- err }
	s, err := etcd.Open(ctx, o)
	if err != nil {
		return err
	}
	w := s.Watch(ctx, "/", 0)
	s.GiveUp("the disk is gone")
	s.GiveUp("the disk is gone")
	fmt.Println("fatal:", <-fatal)
	<-w.Batches()
	fmt.Println("watch:", w.Err())
	_, err = s.Commit(ctx, store.Txn{Do: []store.Op{put("/a", nil)}})
	fmt.Println("commit:", err)
	fmt.Println("close:", s.Close())
	return nil
}

func childIdles(o etcd.Options) error {
	s, err := etcd.Open(context.Background(), o)
	if err != nil {
		return err
	}
	defer s.Close()
	return idle()
}

// childIsBare runs embedded etcd and nothing else, under the same settings.
func childIsBare(o etcd.Options) error {
	cfg, err := etcd.Config(o)
	if err != nil {
		return err
	}
	member, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer member.Close()
	<-member.Server.ReadyNotify()
	return idle()
}

func idle() error {
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// process is a running child.
type process struct {
	*exec.Cmd
	stdin io.Closer
	lines *bufio.Scanner
}

// start runs a child until the test ends, at the longest.
func start(tb testing.TB, role, dir string, env ...string) process {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(append(os.Environ(), "TEND_ETCD_CHILD="+role, "TEND_ETCD_DIR="+dir), env...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { cancel(); _ = cmd.Wait() })
	return process{cmd, stdin, bufio.NewScanner(stdout)}
}

// rest returns the child's output until it ends.
func (p process) rest() []string {
	var all []string
	for p.lines.Scan() {
		all = append(all, p.lines.Text())
	}
	return all
}
