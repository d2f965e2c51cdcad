package records

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"tend.dev/tend/api"
)

// codecs maps prefixes to the types of their values. Longer prefixes come first if one contains another.
var codecs = []struct {
	prefix string
	decode func(key string, value []byte) (any, error)
}{
	{EventsPrefix, keepOut},
	{AuditPrefix, keepOut},
	{DesiredPrefix, decodeAs[api.Object]},
	{TasksPrefix, decodeTask},
	{ReleasesPrefix, decodeAs[api.Release]},
	{ImagesPrefix, decodeAs[api.ImageRequest]},
	{FoundPrefix, decodeAs[Found]},
	{FrozenPrefix, decodeAs[api.Frozen]},
	{LossesPrefix, decodeAs[api.NodeLosses]},
	{NodeStatesPrefix, decodeAs[api.NodeState]},
	{UnansweredPrefix, decodeAs[Unanswered]},
	{MovesPrefix, decodeAs[api.Moves]},
	{HoldsPrefix, decodeAs[api.Hold]},
	{NamesPrefix, decodeAs[api.Ref]},
	{ActualTasksPrefix, decodeTaskStatus},
	{ActualNodesPrefix, decodeAs[api.NodeStatus]},
	{ActualImagesPrefix, decodeAs[api.ImageStatus]},
	{StatusPrefix, decodeStatus},
	{ActualIngressPrefix, decodeAs[api.IngressNodeStatus]},
	{ActualNetworkPrefix, decodeAs[api.NetworkNodeStatus]},
	{SubnetsKey, decodeAs[api.Subnets]},
	{RunsPrefix, decodeAs[api.Run]},
	{DeliveriesPrefix, decodeAs[api.Delivery]},
	{ServersPrefix, decodeAs[api.ServerPresence]},
	{MembersPrefix, decodeMember},
	{JoinTokensPrefix, decodeAs[JoinToken]},
	{RotationsPrefix, decodeAs[Rotation]},
	{HoldingsPrefix, decodeAs[Holdings]},
	{AccessTokensPrefix, decodeAs[AccessToken]},
	{BackupKey, decodeAs[api.BackupRecord]},
	{PauseKey, decodeAs[Pause]},
	{LastPauseKey, decodeAs[Pause]},
	{LabsPrefix, decodeAs[api.LabOrders]},
	{AutoscalePrefix, decodeAs[api.AutoscaleStatus]},
	{SyncedPrefix, decodeAs[api.Synced]},
	{ClusterJobsPrefix, decodeAs[api.ClusterJob]},
	{ClusterQueriesPrefix, decodeAs[ClusterQuery]},
	{ClusterAccessPrefix, decodeAs[api.ClusterAccess]},
	{ActualObjectsPrefix, decodeAs[api.ClusterReport]},
	{ActualClusterPrefix, decodeAs[api.ClusterContact]},
	{SinksPrefix, decodeAs[api.SinkProgress]},
	{SlotsPrefix, decodeText},
	{ConfinedPrefix, decodeText},
	{HomesPrefix, decodeText},
	{PlacingKey, decodeText},
	{ClusterKey, decodeCluster}, // last, since other prefixes begin with it
}

// Decode decodes a stored value into its record: a pointer to the type named in codecs or in the table of kinds, a
// string for slots and homes, and the bytes themselves for values without a type (config, leases).
func Decode(key string, value []byte) (any, error) {
	for _, c := range codecs {
		if strings.HasPrefix(key, c.prefix) {
			record, err := c.decode(key, value)
			if err != nil {
				return nil, fmt.Errorf("decode %s: %w", key, err)
			}
			return record, nil
		}
	}
	return value, nil
}

func decodeCluster(key string, value []byte) (any, error) {
	if key != ClusterKey {
		return value, nil
	}
	return decodeAs[Cluster](key, value)
}

// decodeStatus decodes a status by the kind that its key names.
func decodeStatus(key string, value []byte) (any, error) {
	kind, _, _ := strings.Cut(strings.TrimPrefix(key, StatusPrefix), "/")
	of := api.Kind(kind).Info().Status
	if of == nil {
		return value, nil
	}
	record := reflect.New(of).Interface()
	if err := json.Unmarshal(value, record); err != nil {
		return nil, err
	}
	return record, nil
}

// keepOut keeps logs out of the view: package eventlog reads them.
func keepOut(string, []byte) (any, error) { return nil, nil }

func decodeText(_ string, value []byte) (any, error) { return string(value), nil }

func decodeAs[T any](_ string, value []byte) (any, error) {
	record, err := decodeInto[T](value)
	if err != nil {
		return nil, err
	}
	return record, nil
}

func decodeInto[T any](value []byte) (*T, error) {
	record := new(T)
	if err := json.Unmarshal(value, record); err != nil {
		return nil, err
	}
	return record, nil
}
