package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// tryFor bounds one attempt to write while a cluster has no leader.
const tryFor = 250 * time.Millisecond

// failover measures the time from the death of the leading server (SIGKILL) to the first write that a remaining one
// accepts: a config value through its API, against a plain write to the same server's etcd at the same time.
func failover(ctx context.Context, l *harness) error {
	cluster := &trio{l: l}
	defer cluster.stop()
	if err := cluster.start(ctx); err != nil {
		return err
	}
	t := times{}
	for turn := range max(2*l.pairs, 4) {
		killed, asked, err := cluster.killLeader(ctx)
		if err != nil {
			return err
		}
		api, raw, err := writesBack(ctx, asked, turn)
		if err != nil {
			return err
		}
		t["tend"], t["etcd"] = append(t["tend"], api), append(t["etcd"], raw)
		if err := cluster.back(ctx, killed); err != nil {
			return err
		}
	}
	compare("failover", t, "tend", "etcd", "its own etcd")
	return nil
}

// writesBack measures both writes at once: each is retried until it succeeds.
func writesBack(ctx context.Context, s *server, turn int) (ofAPI, raw time.Duration, err error) {
	direct, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" +
		filepath.Join(s.root, "state", "client.sock")}, Logger: zap.NewNop()})
	if err != nil {
		return 0, 0, err
	}
	defer direct.Close()
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	value := strconv.Itoa(turn)
	began := time.Now()
	until := func(took *time.Duration, write func(context.Context) error) {
		for ctx.Err() == nil {
			try, cancel := context.WithTimeout(ctx, tryFor)
			err := write(try)
			cancel()
			if err == nil {
				*took = time.Since(began)
				return
			}
		}
	}
	var both sync.WaitGroup
	both.Go(func() {
		until(&ofAPI, func(ctx context.Context) error {
			_, err := s.client.SetConfig(ctx, "bench", "", api.ConfigRequest{Set: map[string]string{"TURN": value}})
			return err
		})
	})
	both.Go(func() {
		until(&raw, func(ctx context.Context) error {
			_, err := direct.Put(ctx, "/bench/turn", value)
			return err
		})
	})
	both.Wait()
	return ofAPI, raw, ctx.Err()
}

// trio are three servers of one cluster on this machine.
type trio struct {
	l       *harness
	servers [3]*server
}

func (c *trio) start(ctx context.Context) error {
	for i := range c.servers {
		if err := c.launch(ctx, i, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *trio) address(i, port int) string {
	return fmt.Sprintf("127.44.%d.%d:%d", os.Getpid()&0xff, i+1, port)
}

// launch starts a server; it joins the first one if it is new.
func (c *trio) launch(ctx context.Context, i int, known *server) error {
	root := filepath.Join(c.l.dir, "trio-"+strconv.Itoa(i))
	flags := []string{"server", "--root", root, "--name", "s" + strconv.Itoa(i), "--no-agent", "--http", "off",
		"--ingress-http", "off", "--ingress-https", "off",
		"--peer-listen", c.address(i, 2380), "--node-listen", c.address(i, 8688)}
	if known == nil && i > 0 {
		token, err := c.servers[0].client.JoinToken(ctx, api.JoinTokenRequest{Role: api.JoinAsServer})
		if err != nil {
			return err
		}
		flags = append(flags, "--join", token.Address, "--token", token.Token)
	}
	log, err := os.OpenFile(root+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s := &server{root: root, exited: make(chan error, 1)}
	if s.client, err = client.New(client.Options{Server: "unix://" + filepath.Join(root, client.SocketName)}); err != nil {
		return err
	}
	s.command = exec.Command(c.l.tend, flags...)
	s.command.Stdout, s.command.Stderr, s.command.SysProcAttr = log, log, ownGroup()
	if err := s.command.Start(); err != nil {
		return err
	}
	go func() { s.exited <- s.command.Wait() }()
	c.servers[i] = s
	return s.awaitReady(ctx)
}

// killLeader kills the server whose store leads, and returns its place and one of the remaining servers.
func (c *trio) killLeader(ctx context.Context) (int, *server, error) {
	for i, s := range c.servers {
		direct, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" +
			filepath.Join(s.root, "state", "client.sock")}, Logger: zap.NewNop()})
		if err != nil {
			return 0, nil, err
		}
		status, err := direct.Status(ctx, direct.Endpoints()[0])
		if err = errors.Join(err, direct.Close()); err != nil {
			return 0, nil, err
		}
		if status.Leader == status.Header.MemberId {
			_ = s.command.Process.Kill()
			return i, c.servers[(i+1)%len(c.servers)], nil
		}
	}
	return 0, nil, errors.New("no server's store leads")
}

// back restarts a killed server, and waits until the cluster has three again.
func (c *trio) back(ctx context.Context, i int) error {
	<-c.servers[i].exited
	c.servers[i].client.Close()
	return c.launch(ctx, i, c.servers[i])
}

func (c *trio) stop() {
	for _, s := range c.servers {
		if s != nil {
			_ = s.command.Process.Kill()
		}
	}
}
