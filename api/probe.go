package api

// Probes ask a running container how it is.
type Probes struct {
	Liveness  *Probe `json:"liveness,omitempty" hcl:"liveness,block"`
	Readiness *Probe `json:"readiness,omitempty" hcl:"readiness,block"`
	Startup   *Probe `json:"startup,omitempty" hcl:"startup,block"`
}

// None reports whether the block exists and is empty. This disables all probes, including the image's HEALTHCHECK.
func (p *Probes) None() bool { return p != nil && *p == (Probes{}) }

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
