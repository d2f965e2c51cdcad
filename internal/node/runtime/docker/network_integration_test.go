//go:build integration

package docker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/docker"
)

func cleanUp(t *testing.T, rt runtime.Runtime) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	containers, err := rt.List(ctx)
	if err != nil {
		t.Errorf("clean up: %v", err)
	}
	for _, container := range containers {
		if err := rt.Remove(ctx, container.ID); err != nil {
			t.Errorf("clean up: %v", err)
		}
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

// anySubnet returns a subnet that no other run has: an engine keeps that of a network that a killed run was creating.
func anySubnet() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 192 + byte(rand.N(64)), byte(rand.N(256)), 0}), 24)
}

// TestPlatformNetworkIsMadeOnce: by several servers that start at the same time, and again after it was removed.
func TestPlatformNetworkIsMadeOnce(t *testing.T) {
	t.Parallel()
	name := "tendtest-" + random()
	subnet := anySubnet()
	t.Cleanup(func() { _ = exec.Command("docker", "network", "rm", name).Run() }) // removed already if the test succeeded
	runtimes := make([]runtime.Runtime, 4)
	for i := range runtimes {
		rt, err := docker.New(t.Context(), docker.Options{
			Cluster: "tendtest-" + random(), Node: "n", NetworkName: name,
			NetworkSubnet: func() (netip.Prefix, int, error) { return subnet, 1500, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		runtimes[i] = rt
		t.Cleanup(func() { cleanUp(t, rt) })
	}
	create := func() error {
		errs := make([]error, len(runtimes))
		var group sync.WaitGroup
		for i, rt := range runtimes {
			group.Go(func() {
				made, err := rt.Create(t.Context(),
					container(api.DeploymentSpec{Container: api.Container{Networks: []string{api.NetworkAlias}}}, "wait"))
				if err == nil {
					err = rt.Start(t.Context(), made.ID)
				}
				errs[i] = err
			})
		}
		group.Wait()
		return errors.Join(errs...)
	}
	for _, when := range []string{"first", "after it was removed behind us"} {
		if err := create(); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		got := dockerCLI(t, "network", "inspect", "-f", `{{.Driver}} {{(index .IPAM.Config 0).Subnet}} {{len .Labels}}`, name)
		if got != "bridge "+subnet.String()+" 1" {
			t.Errorf("%s: the network is %q", when, got)
		}
		if ids := strings.Fields(dockerCLI(t, "network", "ls", "-q", "--filter", "name=^"+name+"$")); len(ids) != 1 {
			t.Errorf("%s: networks %v, want one", when, ids)
		}
		for _, rt := range runtimes {
			containers, err := rt.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, container := range containers {
				if err := rt.Remove(t.Context(), container.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		dockerCLI(t, "network", "rm", name)
	}
}

func TestFurtherNetworks(t *testing.T) {
	c := newCluster(t)
	further := "tendtest-" + random()
	dockerCLI(t, "network", "create", further)
	t.Cleanup(func() { dockerCLI(t, "network", "rm", further) })
	spec := container(api.DeploymentSpec{Container: api.Container{Networks: []string{further}}}, "wait")
	spec.Aliases = []string{"web.prod", "web.prod.tend"}
	made, err := c.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	// A crash between the create and the connect leaves this; creating again completes it.
	dockerCLI(t, "network", "disconnect", further, made.ID)
	if _, err := c.Create(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	got := dockerCLI(t, "inspect", "-f",
		`{{range $name, $n := .NetworkSettings.Networks}}{{$name}}={{$n.Aliases}} {{end}}`, made.ID)
	if !strings.Contains(got, network+"=[web.prod web.prod.tend") || !strings.Contains(got, further+"=") {
		t.Errorf("networks %s, want %s with the aliases, and %s", got, network, further)
	}
	seen, err := c.Inspect(t.Context(), made.ID)
	address := dockerCLI(t, "inspect", "-f", `{{(index .NetworkSettings.Networks "`+network+`").IPAddress}}`, made.ID)
	if err != nil || seen.Address != address {
		t.Errorf("address %s, %v; want that of the platform network, %s", seen.Address, err, address)
	}
	if err := c.Remove(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
}
