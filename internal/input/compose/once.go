package compose

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"tend.dev/tend/api"
)

// oneShot is the reason why a service is a job. itself is set if the job runs when it is applied, as it did with
// `docker compose up`; otherwise it runs on request.
type oneShot struct {
	why    string
	itself bool
	// guess is set if only the restart policy suggests a job.
	guess bool
}

// findOnce finds the services that run to their end.
func (c *converter) findOnce() {
	c.once = map[string]oneShot{}
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		for other, d := range c.project.Services[name].DependsOn {
			if d.Condition == types.ServiceConditionCompletedSuccessfully {
				c.once[other] = oneShot{why: "others wait for it to complete", itself: true}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.project.Services)) {
		if c.once[name].why == "" {
			routes := c.routes[name]
			c.once[name] = runsOnce(c.project.Services[name], routes != nil && len(routes.sites) > 0)
		}
	}
}

// runsOnce returns why a service, judged by itself, is a job; routed is set if a proxy serves it. A deployment that
// ends would be started again and again.
func runsOnce(s types.ServiceConfig, routed bool) oneShot {
	serves := routed || s.NetworkMode == "host" || s.HealthCheck != nil || len(s.Ports) > 0 || len(s.Expose) > 0
	never := s.Restart == "no" || s.Deploy != nil && s.Deploy.RestartPolicy != nil &&
		s.Deploy.RestartPolicy.Condition == "none"
	switch {
	case s.Deploy != nil && strings.HasSuffix(s.Deploy.Mode, "-job"):
		return oneShot{why: "deploy.mode is " + s.Deploy.Mode, itself: true}
	case len(s.Profiles) > 0 && (never || s.Restart == "") && !serves:
		return oneShot{why: "it has a profile, and nothing that serves or restarts"}
	case never && !serves && !isServer(s):
		return oneShot{why: "it is never restarted, and has no port and no healthcheck", itself: true, guess: true}
	}
	return oneShot{}
}

// servers are images that serve by default, without a command.
var servers = []string{
	"adminer", "caddy", "cassandra", "clickhouse-server", "consul", "couchdb", "elasticsearch", "etcd",
	"grafana", "haproxy", "httpd",
	"influxdb", "kafka", "localstack", "mailhog", "mailpit", "mariadb", "memcached", "minio", "mongo",
	"mongodb", "mysql", "nats",
	"neo4j", "nginx", "opensearch", "phpmyadmin", "postgis", "postgres", "postgresql", "prometheus",
	"rabbitmq", "redis", "registry",
	"traefik", "valkey", "varnish", "vault", "zookeeper",
}

func isServer(s types.ServiceConfig) bool {
	return s.Build == nil && len(s.Command)+len(s.Entrypoint) == 0 && slices.Contains(servers, imageBase(s.Image))
}

// imageBase returns the last part of an image's name without its tag: postgres for docker.io/library/postgres:16.
func imageBase(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndexByte(image, '/')+1:]
	image, _, _ = strings.Cut(image, ":")
	return image
}

// serviceJob turns a service that runs to its end into a job.
func (c *converter) serviceJob(u *unit, s types.ServiceConfig, once oneShot) error {
	c.deployLimits(u, s.Deploy)
	spec := api.JobSpec{Container: c.container(u), RunOnRelease: once.itself, Retries: c.attempts(u, s)}
	c.reservations(u, s.Deploy, &spec.Container)
	c.placement(u, s.Deploy, "", &spec.Container)
	c.gpus(u, s.Deploy)
	spec.DependsOn = c.dependsOn(u)
	spec.DockerOptions = u.flags()
	r := c.report
	r.carry(u.at+".profiles", u.at+".profiles[*]", u.at+".restart", u.at+".deploy.mode")
	c.exposed(u)
	ref := c.scope + "/" + u.name
	switch {
	case once.guess:
		r.differs(u.at,
			"became a job, because %s; it runs when it is applied and when it changes. If it serves, write restart: unless-stopped", once.why)
	case once.itself:
		r.note(u.at,
			"became a job, because %s; it runs when it is applied and when it changes, and what depends on it waits for its end",
			once.why)
	default:
		r.note(u.at, "became a job, because %s; it runs on request: tend run %s", once.why, ref)
		c.steps.runs = append(c.steps.runs, "tend run "+ref)
	}
	if once.itself && len(s.Profiles) > 0 {
		r.differs(u.at+".profiles", "it runs whichever profiles are asked for")
	}
	if routes := c.routes[s.Name]; routes != nil {
		for _, site := range routes.sites {
			c.noRoute(site.by, Breaks, "a job serves no requests, so it has no ingress. %s", siteGone)
		}
	}
	if s.Deploy != nil && s.Deploy.Mode == "global-job" {
		r.lost(u.at+".deploy.mode", Changes, "it runs on one node, not on each")
	}
	return c.add(api.KindJob, u, spec)
}

// attempts returns the number of retries of a failed job, by restart: on-failure.
func (c *converter) attempts(u *unit, s types.ServiceConfig) int {
	const most = 10
	policy := s.Restart
	if s.Deploy != nil && s.Deploy.RestartPolicy != nil {
		at := u.at + ".deploy.restart_policy"
		c.report.carry(at, at+".condition", at+".max_attempts")
		policy = s.Deploy.RestartPolicy.Condition
		if n := s.Deploy.RestartPolicy.MaxAttempts; n != nil {
			policy += ":" + strconv.FormatUint(*n, 10)
		}
	}
	kind, text, counted := strings.Cut(policy, ":")
	if kind != "on-failure" && kind != "any" && kind != "always" && kind != "unless-stopped" {
		return 0
	}
	if kind == "always" || kind == "unless-stopped" {
		c.report.differs(u.at+".restart", "a job that ended isn't restarted")
		return 0
	}
	n, err := strconv.Atoi(text)
	if !counted || err != nil || n > most {
		if counted {
			c.report.differs(u.at+".restart", "a failed job is repeated %d times at most", most)
		}
		return most
	}
	return n
}
