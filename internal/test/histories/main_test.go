//go:build integration

package histories

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
	"tend.dev/tend/internal/server/daemon"
)

// roleVariable makes this test binary a server: its value is a role in JSON.
const roleVariable = "TEND_HISTORIES_SERVER"

// role tells a process which server it is.
type role struct {
	Name, Root, Data                    string
	NodeListen, PeerListen, PeerAddress string
	Join, Token                         string
	// Skew is the error of the process's clock.
	Skew time.Duration
	// MinFree is the server's option of that name; negative means no minimum.
	MinFree int64
	// Agent makes the server run simulated containers: those of the images web:1 and web:2.
	Agent bool
}

func TestMain(m *testing.M) {
	text, serves := os.LookupEnv(roleVariable)
	if !serves {
		os.Exit(m.Run())
	}
	var r role
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		err = r.serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ended:", err)
		os.Exit(1)
	}
}

// nodeTimeout is when a silent node is lost: no pause of a busy machine is as long.
const nodeTimeout = 30 * time.Second

// serve runs a server until a signal ends it.
func (r role) serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	engine := hollow.NewEngine()
	defer engine.Close()
	for _, image := range []string{"web:1", "web:2"} {
		engine.AddImage(image)
	}
	return daemon.Run(ctx, daemon.Options{
		Options: host.Options{
			Root: r.Root, Data: r.Data, MinFree: r.MinFree, Now: func() time.Time { return time.Now().Add(r.Skew) },
			NodeTimeout: nodeTimeout, Heartbeat: time.Second,
			Runtime: "hollow", Engine: func(cluster, node string) (runtime.Runtime,
				error) {
				return engine.Client(cluster, node), nil
			},
			Node: "node-" + r.Name, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		},
		Name: r.Name, NoAgent: !r.Agent, HTTP: "off", QuietEtcd: true,
		NodeListen: r.NodeListen, PeerListen: r.PeerListen, PeerAddress: r.PeerAddress, Join: r.Join, Token: r.Token,
	})
}
