//go:build integration

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestSecretsOfWebhooksAreFoundNowhere: secrets of a webhook are kept in buckets. It reaches the receiver,
// and no answer, log, record, diff or file, also where the call fails.
func TestSecretsOfWebhooksAreFoundNowhere(t *testing.T) {
	r := newReceiver(t, func(path string, _ int) int {
		if strings.HasPrefix(path, "/dead") {
			return http.StatusGone
		}
		return http.StatusOK
	})
	p := &planted{machine: newMachine(t, "--log-level", "debug").start()}
	hooks := p.scope + "/hooks"
	secret := func(key, before string) string {
		value := "s3cret-" + random()
		p.secrets = append(p.secrets, value)
		p.wantSaid(p.tend("config", "set", hooks, key+"=@"+p.text(key, before+value)), 0)
		return value
	}
	path, token, dead := secret("ADDRESS", r.URL+"/"), secret("TOKEN", ""), secret("DEAD", "")
	p.plant(hooks, "ROUTING_KEY") // quotes and a line end: a body may hold anything
	calling := func(s *api.DeploymentSpec) {
		informs(api.DeployHooks{Success: []api.Webhook{
			{URL: "${config.hooks.ADDRESS}", Headers: map[string]string{"Authorization": "Bearer ${config.hooks.TOKEN}"},
				Body: api.Payload{"routing_key": "${config.hooks.ROUTING_KEY}", "text": "{{name}}"}},
			{URL: r.URL + "/dead/${config.hooks.DEAD}"},
			{URL: "http://${config.hooks.TOKEN}.invalid/"},
		}})(s)
	}
	p.deploy(p.manifest("app", calling))
	p.until("both are called", func() bool { return len(r.heard("/"+path)) == 1 && len(r.heard("/dead/"+dead)) == 1 })
	heard := r.heard("/" + path)[0]
	if heard.authorization != "Bearer "+token || heard.body["routing_key"] != p.secrets[3] || heard.body["text"] != "app" {
		t.Errorf("got %+v", heard)
	}
	p.until("the calls are recorded", func() bool {
		said := p.tend("describe", p.scope+"/app").output
		return strings.Contains(said, "delivered") && strings.Contains(said, "answered 410") &&
			strings.Contains(said, "call the receiver")
	})
	p.everywhere()
	p.in("diff", []byte(p.tend("diff", "-f",
		p.text("app.json", p.manifestText(calling, func(s *api.DeploymentSpec) { s.Image = image("v2") }))).output))
	p.terminate()
	p.inFiles(p.root)
}
