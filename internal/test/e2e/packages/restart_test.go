//go:build integration

package packages

import (
	"context"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

const served = `ingress "demo" "web" {
  host    = "web.test"
  service = "web"
  port    = 8080
  tls { enabled = false }
}`

// refusesNothing: while systemd restarts the server, and after a crash, who connects to the ingress waits. A port that
// nobody wants any more is closed.
func (m *machine) refusesNothing() {
	m.Helper()
	m.run("cat > /srv/served.hcl <<'EOF'\n" + served + "\nEOF\ntend apply -f /srv/served.hcl --no-wait")
	output, err := exec.Command("docker", "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
		m.container).Output()
	if err != nil {
		m.Fatal(err)
	}
	address := strings.TrimSpace(string(output)) + ":80"
	m.until("the ingress answers", func() bool { return ask(address) == nil })

	asked, refused, failed := m.askWhile(address, func() { m.run("systemctl restart tend") })
	if refused > 0 || failed > 0 {
		m.Errorf("a restart: of %d requests %d were refused and %d failed", asked, refused, failed)
	}
	killed := m.run("systemctl show -p MainPID --value tend")
	asked, refused, failed = m.askWhile(address, func() {
		m.run("kill -KILL " + killed)
		m.until("systemd started the server again", func() bool {
			return m.try("systemctl show -p MainPID --value tend") != killed && m.try("systemctl is-active tend") == "active"
		})
	})
	if refused > 0 || failed > 1 { // the request in progress
		m.Errorf("a crash: of %d requests %d were refused and %d failed", asked, refused, failed)
	}
	m.run("tend delete ingress demo/web --yes")
	m.until("nobody listens any more", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

// askWhile sends one request after the other, each over a new connection, until a function has returned and one more
// was sent.
func (m *machine) askWhile(address string, do func()) (asked, refused, failed int) {
	m.Helper()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for over := false; !over; {
			select {
			case <-stop:
				over = true
			default:
			}
			asked++
			conn, err := net.Dial("tcp", address)
			if err != nil {
				refused++
				continue
			}
			_ = conn.Close()
			if ask(address) != nil {
				failed++
			}
		}
	}()
	do()
	close(stop)
	<-ended
	return asked, refused, failed
}

// ask requests a host that nothing serves: the ingress itself answers.
func ask(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, nil)
	if err != nil {
		return err
	}
	request.Close = true
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err == nil {
		_ = answer.Body.Close()
	}
	return err
}
