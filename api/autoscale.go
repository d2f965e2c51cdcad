package api

import "time"

// Defaults of autoscale.
const (
	DefaultCooldownUp   = 30 * time.Second
	DefaultCooldownDown = 5 * time.Minute
)

// ManagerAutoscaler owns replicas where a deployment has an autoscale block.
const ManagerAutoscaler = "autoscaler"

// Autoscale lets Tend choose the number of replicas by the CPU they use. A manifest has it or replicas, not both.
type Autoscale struct {
	// Min and Max bound the number of replicas. Both are required; Min is at least 1.
	Min int `json:"min,omitempty" hcl:"min,optional"`
	Max int `json:"max,omitempty" hcl:"max,optional"`
	// CPUTarget is the mean use per pod aimed at, in percent of one core: 1 to 100. Required.
	CPUTarget int `json:"cpu_target,omitempty" hcl:"cpu_target,optional"`
	// CooldownUp is the time after a change until a replica may be added. Default 30s.
	CooldownUp Duration `json:"cooldown_up,omitempty" hcl:"cooldown_up,optional"`
	// CooldownDown is the time after a change until a replica may be removed. Default 5m.
	CooldownDown Duration `json:"cooldown_down,omitempty" hcl:"cooldown_down,optional"`
}

// Bounds are the least and the most replicas.
func (a Autoscale) Bounds() (low, high int) {
	low = max(a.Min, 1)
	return low, max(a.Max, low)
}

// AutoscaleStatus holds what the autoscaler knows of one deployment. The autoscaler alone writes it.
type AutoscaleStatus struct {
	ObservedGeneration int64 `json:"observedGeneration"`
	// CPUPercent is the mean over the pods at At, 100 being one core; Pods how many were sampled.
	CPUPercent float64   `json:"cpuPercent"`
	Pods       int       `json:"pods"`
	At         time.Time `json:"at,omitzero"`
	// Replicas is the number it asked for last; LastUp and LastDown are the times of its last changes, from which the
	// cooldowns count.
	Replicas int       `json:"replicas,omitempty"`
	LastUp   time.Time `json:"lastUp,omitzero"`
	LastDown time.Time `json:"lastDown,omitzero"`
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"message,omitempty"`
}
