package api

// Labels on every container an agent makes. An agent touches only containers whose LabelCluster is its own.
const (
	LabelPrefix  = "tend."
	LabelCluster = "tend.cluster"
	LabelKind    = "tend.kind"
	LabelScope   = "tend.scope"
	LabelName    = "tend.name"
	LabelSlot    = "tend.slot"
	LabelTask    = "tend.task"
	LabelRelease = "tend.release"
	LabelNode    = "tend.node"
)

// Names and environment variables containers see.
const (
	// Network is the platform network every bridged container joins.
	Network = "tend0"
	// NetworkAlias is the predecessor's name for it, accepted in manifests and served in DNS.
	NetworkAlias = "voodu0"

	EnvScope = "TEND_SCOPE"
	EnvName  = "TEND_NAME"
	EnvSlot  = "TEND_SLOT"
)
