package compose

// Weight ranks a finding by what the person who imports a file has to do.
type Weight int

const (
	// Trifle: nothing to do, the containers behave the same.
	Trifle Weight = iota
	// Changes: the containers run, but behave differently than under Compose.
	Changes
	// Breaks: it doesn't work until a person has settled it.
	Breaks
)

// String returns the weight's name in a report.
func (w Weight) String() string {
	switch w {
	case Breaks:
		return "breaks"
	case Changes:
		return "changes behaviour"
	default:
		return "trifle"
	}
}

// fieldWeights are the fields whose loss a container doesn't survive, or whose loss leaves its data or its site behind.
// The loss of any other field changes behaviour.
var fieldWeights = map[string]Weight{
	"volumes": Breaks, "ports": Breaks, "command": Breaks, "entrypoint": Breaks, "user": Breaks, "secret_files": Breaks,
	"devices": Breaks, "networks": Breaks, "network_mode": Breaks, "depends_on": Breaks, "build": Breaks,
	"extra_hosts": Breaks,
	"host":        Breaks, "listen": Breaks, "locations": Breaks, "aliases": Breaks,
	"labels": Trifle, "logs": Trifle,
}

func weightOf(field string) Weight {
	if weight, known := fieldWeights[field]; known {
		return weight
	}
	return Changes
}
