package dockerflags

import (
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// addPublish binds to every address if none is named, as docker does. The field ports binds to loopback.
func addPublish(o *Options, v string) error {
	p, err := api.ParsePort(v, "")
	if err != nil {
		return fmt.Errorf("has a wrong value %q: %w", v, err)
	}
	total := max(p.Host.Len(), p.Container.Len())
	for _, other := range o.Publish {
		total += max(other.Host.Len(), other.Container.Len())
	}
	if total > api.MaxPublishedPorts {
		return fmt.Errorf("publishes more than %d ports: name fewer, or use network_mode host", api.MaxPublishedPorts)
	}
	o.Publish = append(o.Publish, p)
	return nil
}

// maxExposed is the most ports that one range may expand to.
const maxExposed = 65535

func addExpose(o *Options, v string) error {
	if strings.Contains(v, ":") {
		return fmt.Errorf("takes a port of the container such as 80 or 80-89/udp, not %q; use ports to publish it", v)
	}
	p, err := api.ParsePort(v, "")
	if err != nil {
		return fmt.Errorf("has a wrong value %q: %w", v, err)
	}
	if len(o.Expose)+p.Container.Len() > maxExposed {
		return fmt.Errorf("names more than %d ports", maxExposed)
	}
	for port := p.Container.First; port <= p.Container.Last; port++ {
		o.Expose = append(o.Expose, fmt.Sprintf("%d/%s", port, p.Protocol))
	}
	return nil
}
