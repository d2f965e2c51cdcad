package compose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
)

// gpus converts the requests for GPUs, of either spelling, into the flag of docker run.
func (c *converter) gpus(u *unit, d *types.DeployConfig) {
	c.deviceRequests(u, u.at+".gpus", u.Gpus)
	if d == nil || d.Resources.Reservations == nil {
		return
	}
	c.deviceRequests(u, u.at+".deploy.resources.reservations.devices", d.Resources.Reservations.Devices)
}

func (c *converter) deviceRequests(u *unit, at string, requests []types.DeviceRequest) {
	for i, request := range requests {
		here := fmt.Sprintf("%s[%d]", at, i)
		gpu := len(request.Capabilities) == 0 || slices.Contains(request.Capabilities, "gpu")
		if !gpu || request.Driver != "" && request.Driver != "nvidia" || len(request.Options) > 0 {
			c.report.lost(here, Breaks, "only GPUs of the driver nvidia are asked for")
			continue
		}
		c.report.carryAll(at, here)
		flag := "--gpus=all"
		switch {
		case len(request.IDs) > 0:
			flag = `--gpus="device=` + strings.Join(request.IDs, ",") + `"`
		case request.Count > 0:
			flag = fmt.Sprintf("--gpus=%d", request.Count)
		}
		u.flag(c, here, flag)
	}
}
