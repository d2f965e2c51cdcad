package change

import (
	"encoding/json"

	"tend.dev/tend/api"
)

// Orders returns the events of people's requests about a lab beside its spec: more time, or its end. A nil old means
// that there were none before.
func Orders(object api.Object, old, next *api.LabOrders) []Event {
	if old == nil || old.OwnerUID != next.OwnerUID {
		old = &api.LabOrders{}
	}
	data := About(object)
	if old.Extended != next.Extended {
		data.Changes = append(data.Changes,
			api.EventChange{Path: "extended", Old: text(old.Extended.String()), New: text(next.Extended.String())})
	}
	if old.StoppedBy == "" && next.StoppedBy != "" {
		data.Changes = append(data.Changes, api.EventChange{Path: "stopped", New: json.RawMessage("true")})
	}
	if len(data.Changes) == 0 {
		return nil
	}
	return []Event{{api.EventUpdated, data}}
}

func text(value string) json.RawMessage {
	raw, _ := json.Marshal(value) // a text
	return raw
}
