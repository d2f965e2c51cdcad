//go:build integration

package e2e

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// TestDeploy: three replicas run, answer only on loopback, and know their identity. Other containers find all of them
// by the app's name.
func TestDeploy(t *testing.T) {
	m := newMachine(t).start()
	status := m.deploy(m.manifest("hello", replicas(3), func(s *api.DeploymentSpec) { s.Ports = []string{"8080"} }))
	if status.Ready != 3 || status.Running != 3 || status.Release != "v1" || status.ImageID != m.imageID(image("v1")) {
		t.Errorf("status %+v", status)
	}
	pods := m.pods("hello")
	if len(pods) != 3 {
		t.Fatalf("%d pods, want 3", len(pods))
	}
	answers := map[string]bool{}
	for _, pod := range pods {
		said := "hello v1 from " + pod.Name + "\n"
		m.until(pod.Name+" answers", func() bool { return answer(pod) == said })
		answers[said] = true
		m.onLoopbackAlone(pod)
		m.knowsItself(pod)
	}
	if len(answers) != 3 {
		t.Errorf("the replicas answer %v, want three answers", answers)
	}
	lookup := []string{"run", "--rm", "--network", m.network, image("v1"), testimage.Program, "lookup", "hello." + m.scope}
	found := strings.Fields(m.engine(lookup...).must())
	for _, pod := range pods {
		if address := m.inspect(pod.Name).NetworkSettings.Networks[m.network].IPAddress; !slices.Contains(found, address) {
			t.Errorf("hello.%s is %v, without %s of %s", m.scope, found, address, pod.Name)
		}
	}
	m.delete("hello")
}

// onLoopbackAlone: a port without an address is not reachable from other machines.
func (m *machine) onLoopbackAlone(pod api.Pod) {
	m.Helper()
	if len(pod.Ports) != 1 || pod.Ports[0].HostIP != "127.0.0.1" || pod.Ports[0].Container != 8080 {
		m.Errorf("%s publishes %+v, want 8080 on 127.0.0.1", pod.Name, pod.Ports)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		m.Fatal(err)
	}
	for _, address := range addresses {
		host := address.(*net.IPNet).IP
		if host.IsLoopback() || host.To4() == nil {
			continue
		}
		if conn, err := net.Dial("tcp", net.JoinHostPort(host.String(), strconv.Itoa(pod.Ports[0].HostPort))); err == nil {
			_ = conn.Close()
			m.Errorf("%s answers on %s too", pod.Name, host)
		}
	}
}

func (m *machine) knowsItself(pod api.Pod) {
	m.Helper()
	seen := m.inspect(pod.Name)
	for label, want := range map[string]string{
		api.LabelKind: "deployment", api.LabelScope: m.scope, api.LabelName: pod.Resource, api.LabelSlot: pod.Slot,
		api.LabelTask: pod.Task, api.LabelRelease: pod.Release, api.LabelNode: pod.Node,
	} {
		if got := seen.Config.Labels[label]; got != want {
			m.Errorf("%s has label %s=%q, want %q", pod.Name, label, got, want)
		}
	}
	if seen.Config.Labels[api.LabelCluster] == "" {
		m.Errorf("%s does not say whose it is", pod.Name)
	}
	if want := m.scope + "-" + pod.Resource + "." + pod.Slot; pod.Name != want {
		m.Errorf("container %s, want %s", pod.Name, want)
	}
	said := m.engine("exec", pod.Name, testimage.Program, "env").must()
	for _, want := range []string{"TEND_SCOPE=" + m.scope, "TEND_NAME=" + pod.Resource, "TEND_SLOT=" + pod.Slot} {
		if !strings.Contains(said, want+"\n") {
			m.Errorf("%s lacks %s in its environment:\n%s", pod.Name, want, said)
		}
	}
	aliases := seen.NetworkSettings.Networks[m.network].Aliases
	if !strings.Contains(strings.Join(aliases, " ")+" ", pod.Resource+"."+m.scope+" ") {
		m.Errorf("%s is known as %v on the platform network, want %s.%s", pod.Name, aliases, pod.Resource, m.scope)
	}
}

// TestEveryDeclaredFieldReachesTheContainer as `docker inspect` shows it.
func TestEveryDeclaredFieldReachesTheContainer(t *testing.T) {
	m := newMachine(t).start()
	volume, further, folder := "tendtest-"+random(), "tendtest-"+random(), t.TempDir()
	m.engine("network", "create", further).must()
	m.afterwards(func() {
		m.engine("volume", "rm", "-f", volume).must()
		m.engine("network", "rm", further).must()
	})
	five := 5
	m.deploy(m.manifest("full", func(s *api.DeploymentSpec) {
		s.Entrypoint, s.Command = []string{testimage.Program}, []string{"wait"}
		s.User, s.WorkingDir, s.Hostname, s.StopSignal, s.StopGracePeriod = "1000:1001", "/data", "box", "SIGUSR1", "3s"
		s.Labels, s.Env = map[string]string{"team": "a"}, map[string]string{"MODE": "test"}
		s.CapAdd, s.CapDrop, s.ReadOnly = []string{"NET_ADMIN"}, []string{"MKNOD"}, true
		s.Tmpfs, s.ShmSize, s.DNS = []string{"/scratch:size=2m"}, "3m", []string{"10.1.2.3"}
		s.SecurityOpt, s.Devices = []string{"no-new-privileges"}, []string{"/dev/null:/dev/nothing:rw"}
		s.Volumes, s.Networks = []string{volume + ":/kept", folder + ":/host:ro"}, []string{further}
		s.Ulimits = map[string]string{"nofile": "1000:1500"}
		s.Resources = &api.Resources{Limits: &api.ResourceLimits{CPU: "500m", Memory: "64Mi"}}
		s.Logs = &api.Logs{MaxSize: "2m", MaxFiles: &five}
		s.ExtraHosts, s.Restart = []string{"peer:10.9.8.7"}, "on-failure:3"
		s.DockerOptions = []string{"--init", "--sysctl", "net.core.somaxconn=256"}
	}))
	pod := m.pods("full")[0]
	seen := m.inspect(pod.Name)
	config, host := seen.Config, seen.HostConfig
	hosts := m.engine("exec", pod.Name, testimage.Program, "cat", "/etc/hosts").must()
	for field, pair := range map[string]struct{ got, want any }{
		"entrypoint":        {config.Entrypoint, []string{testimage.Program}},
		"command":           {config.Cmd, []string{"wait"}},
		"user":              {config.User, "1000:1001"},
		"working_dir":       {config.WorkingDir, "/data"},
		"hostname":          {config.Hostname, "box"},
		"stop_signal":       {config.StopSignal, "SIGUSR1"},
		"stop_grace_period": {config.StopTimeout, 3},
		"labels":            {config.Labels["team"], "a"},
		"cap_add":           {host["CapAdd"], "[CAP_NET_ADMIN]"},
		"cap_drop":          {host["CapDrop"], "[CAP_MKNOD]"},
		"read_only":         {host["ReadonlyRootfs"], true},
		"tmpfs":             {host["Tmpfs"], "map[/scratch:size=2m]"},
		"shm_size":          {host["ShmSize"], float64(3 << 20)},
		"dns":               {host["Dns"], "[10.1.2.3]"},
		"security_opt":      {host["SecurityOpt"], "[no-new-privileges]"},
		"devices": {host["Devices"],
			"[map[CgroupPermissions:rw PathInContainer:/dev/nothing PathOnHost:/dev/null]]"},
		"memory":          {host["Memory"], float64(64 << 20)},
		"cpu":             {host["NanoCpus"], 5e8},
		"ulimits":         {host["Ulimits"], "map[Hard:1500 Name:nofile Soft:1000]"},
		"logs":            {host["LogConfig"], "map[Config:map[max-file:5 max-size:2m] Type:json-file]"},
		"restart":         {host["RestartPolicy"], "map[MaximumRetryCount:3 Name:on-failure]"},
		"init":            {host["Init"], true},
		"sysctl":          {host["Sysctls"], "map[net.core.somaxconn:256]"},
		"volume":          {fmt.Sprint(host["Binds"], host["Mounts"]), volume},
		"host folder":     {fmt.Sprint(host["Binds"], host["Mounts"]), folder},
		"extra_hosts":     {hosts, "10.9.8.7\tpeer"},
		"the host's name": {hosts, "host.docker.internal"},
		"env":             {config.Env, "MODE=test"},
	} {
		if got, want := fmt.Sprint(pair.got), fmt.Sprint(pair.want); !strings.Contains(got, want) {
			t.Errorf("%s: %s lacks %s", field, got, want)
		}
	}
	for _, network := range []string{m.network, further} {
		if _, joined := seen.NetworkSettings.Networks[network]; !joined {
			t.Errorf("not in network %s: %v", network, seen.NetworkSettings.Networks)
		}
	}
}
