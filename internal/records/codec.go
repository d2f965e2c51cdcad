package records

import (
	"encoding/json"
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// codecs maps prefixes to the types of their values. Longer prefixes come first if one contains another.
var codecs = []struct {
	prefix string
	decode func([]byte) (any, error)
}{
	{DesiredPrefix, decodeAs[api.Object]},
	{TasksPrefix, decodeAs[api.Task]},
	{ReleasesPrefix, decodeAs[api.Release]},
	{ImagesPrefix, decodeAs[api.ImageRequest]},
	{FrozenPrefix, decodeAs[api.Frozen]},
	{HoldsPrefix, decodeAs[api.Hold]},
	{NamesPrefix, decodeAs[api.Ref]},
	{ActualTasksPrefix, decodeAs[api.TaskStatus]},
	{ActualNodesPrefix, decodeAs[api.NodeStatus]},
	{ActualImagesPrefix, decodeAs[api.ImageStatus]},
	{StatusPrefix + string(api.KindDeployment) + "/", decodeAs[api.WorkloadStatus]},
	{StatusPrefix + string(api.KindStatefulSet) + "/", decodeAs[api.WorkloadStatus]},
	{StatusPrefix + string(api.KindJob) + "/", decodeAs[api.JobStatus]},
	{StatusPrefix + string(api.KindCronJob) + "/", decodeAs[api.JobStatus]},
	{StatusPrefix + string(api.KindIngress) + "/", decodeAs[api.IngressStatus]},
	{ActualIngressPrefix, decodeAs[api.IngressNodeStatus]},
	{RunsPrefix, decodeAs[api.Run]},
	{DeliveriesPrefix, decodeAs[api.Delivery]},
	{AutoscalePrefix, decodeAs[api.AutoscaleStatus]},
	{SlotsPrefix, func(b []byte) (any, error) { return string(b), nil }},
}

// Decode turns a stored value into its record: a pointer to the type named in codecs, a string for slots, and the bytes
// themselves for what has no type (status of other kinds, config, leases).
func Decode(key string, value []byte) (any, error) {
	for _, c := range codecs {
		if strings.HasPrefix(key, c.prefix) {
			record, err := c.decode(value)
			if err != nil {
				return nil, fmt.Errorf("decode %s: %w", key, err)
			}
			return record, nil
		}
	}
	return value, nil
}

func decodeAs[T any](value []byte) (any, error) {
	record := new(T)
	if err := json.Unmarshal(value, record); err != nil {
		return nil, err
	}
	return record, nil
}
