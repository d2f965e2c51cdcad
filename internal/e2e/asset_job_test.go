//go:build integration

package e2e

import (
	"testing"
)

// TestAssetInAJob: a job's volumes and commands have files too, and the next run has the newest.
func TestAssetInAJob(t *testing.T) {
	m := newMachine(t).start()
	m.wantSaid(m.tend("apply", "-f", m.texts("conf", `main = "one"`)), 0)
	m.wantSaid(m.tend("apply", "-f", m.file("job.hcl", `job "SCOPE" "show" {
  image   = "IMAGE"
  command = ["/server", "cat", "/data/app.conf"]
  env     = { CONF = "${asset.conf.main}" }
  volumes = ["${asset.conf.main}:/data/app.conf"]
}`)), 0, "job/"+m.scope+"/show created")
	m.wantSaid(m.tend("run", m.scope+"/show"), 0, "one")
	m.wantSaid(m.tend("apply", "-f", m.texts("conf", `main = "two"`)), 0, "job/"+m.scope+"/show configured")
	m.wantSaid(m.tend("run", m.scope+"/show"), 0, "two")
}
