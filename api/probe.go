package api

// Probes ask a running container how it is.
type Probes struct {
	Liveness  *Probe `json:"liveness,omitempty" hcl:"liveness,block"`
	Readiness *Probe `json:"readiness,omitempty" hcl:"readiness,block"`
	Startup   *Probe `json:"startup,omitempty" hcl:"startup,block"`
}

// Probe is one question with its rhythm. Exactly one of HTTPGet, TCPSocket and Exec is set.
type Probe struct {
	HTTPGet          *HTTPGet   `json:"http_get,omitempty" hcl:"http_get,block"`
	TCPSocket        *TCPSocket `json:"tcp_socket,omitempty" hcl:"tcp_socket,block"`
	Exec             *ExecProbe `json:"exec,omitempty" hcl:"exec,block"`
	InitialDelay     Duration   `json:"initial_delay,omitempty" hcl:"initial_delay,optional"`
	Period           Duration   `json:"period,omitempty" hcl:"period,optional"`
	Timeout          Duration   `json:"timeout,omitempty" hcl:"timeout,optional"`
	FailureThreshold int        `json:"failure_threshold,omitempty" hcl:"failure_threshold,optional"`
	SuccessThreshold int        `json:"success_threshold,omitempty" hcl:"success_threshold,optional"`
}

// HTTPGet passes on a status of 200 to 399.
type HTTPGet struct {
	Path        string            `json:"path" hcl:"path"`
	Port        int               `json:"port" hcl:"port"`
	Scheme      string            `json:"scheme,omitempty" hcl:"scheme,optional"`
	HTTPHeaders map[string]string `json:"http_headers,omitempty" hcl:"http_headers,optional"`
}

// TCPSocket passes when a connection is accepted.
type TCPSocket struct {
	Port int `json:"port" hcl:"port"`
}

// ExecProbe passes when the command exits with 0.
type ExecProbe struct {
	Command []string `json:"command" hcl:"command"`
}

// Init is a container run to completion before the main one, in order.
type Init struct {
	Name          string            `json:"name" hcl:"name,label"`
	Image         string            `json:"image,omitempty" hcl:"image,optional"`
	Command       []string          `json:"command,omitempty" hcl:"command,optional"`
	Timeout       Duration          `json:"timeout,omitempty" hcl:"timeout,optional"`
	Retries       int               `json:"retries,omitempty" hcl:"retries,optional"`
	Ulimits       map[string]string `json:"ulimits,omitempty" hcl:"ulimits,optional"`
	DockerOptions []string          `json:"docker_options,omitempty" hcl:"docker_options,optional"`
	Resources     *Resources        `json:"resources,omitempty" hcl:"resources,block"`
}

// DeployHooks are webhooks called when a rollout ends.
type DeployHooks struct {
	Success []Webhook `json:"success,omitempty" hcl:"success,block"`
	Failure []Webhook `json:"failure,omitempty" hcl:"failure,block"`
}

// ProbeHooks are webhooks called when a probe changes its answer.
type ProbeHooks struct {
	Failure  []Webhook `json:"failure,omitempty" hcl:"failure,block"`
	Recovery []Webhook `json:"recovery,omitempty" hcl:"recovery,block"`
}

// Webhook is one HTTP call.
type Webhook struct {
	URL     string            `json:"url" hcl:"url"`
	Method  string            `json:"method,omitempty" hcl:"method,optional"`
	Headers map[string]string `json:"headers,omitempty" hcl:"headers,optional"`
	Body    map[string]string `json:"body,omitempty" hcl:"body,optional"`
	File    string            `json:"file,omitempty" hcl:"file,optional"`
}
