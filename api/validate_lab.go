package api

import (
	"net/mail"
	"time"
)

func (c *checker) lab(s LabSpec) {
	c.deployment(s.Workload())
	c.labOwner(s.Owner)
	if s.Start != "" {
		switch at, err := time.Parse(time.RFC3339, s.Start); {
		case err != nil:
			c.add("start", "%q is not a time with its zone, such as 2026-12-01T09:00:00+01:00", s.Start)
		case !Storable(at):
			c.add("start", "%s is outside the years 1 to 9998", s.Start)
		}
	}
	if s.Duration == "" {
		c.add("duration", "is required")
	}
	c.duration("duration", s.Duration, MinLabDuration, MaxLabDuration)
	if s.Count != 0 {
		c.add("count", "a lab is stored as one: a manifest with count declares NAME-1 to NAME-%d", s.Count)
	}
	if s.Class != "" {
		c.name("class", s.Class)
	}
	if route, routed := s.Route(); routed {
		c.ingress(route)
	} else if s.Port != 0 {
		c.add("port", "is the port that host leads to, and there is no host")
	}
}

// labOwner checks that the owner is an address alone, without a name around it.
func (c *checker) labOwner(owner string) {
	if owner == "" {
		c.add("owner", "is required: the e-mail address of the person the lab is for")
		return
	}
	if parsed, err := mail.ParseAddress(owner); err != nil || parsed.Address != owner || len(owner) > 254 {
		c.add("owner", "%q is not an e-mail address such as ada@example.org", owner)
	}
}
