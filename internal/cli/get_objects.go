package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// table defines how the objects of a kind are listed: the columns after their name, and those of -o wide.
type table struct {
	header, wide []string
	narrow       narrowing
	row          func(object api.Object, now time.Time) (cells, wide []string)
}

func tableOf(kind api.Kind) table {
	switch kind {
	case api.KindJob:
		return jobTable
	case api.KindCronJob:
		return cronJobTable
	case api.KindLab:
		return labTable
	case api.KindIngress:
		return ingressTable
	case api.KindAsset:
		return assetTable
	case api.KindRegistry:
		return registryTable
	case api.KindNode:
		return nodeTable
	case api.KindSink:
		return sinkTable
	case api.KindSync:
		return syncTable
	case api.KindCluster:
		return clusterTable
	}
	if kind.Delivered() {
		return deliveredTable
	}
	if kind.HasSlots() {
		return workloadTable
	}
	return plainTable
}

// objectListing returns the listing of objects of one kind.
func objectListing(objects []api.Object, now time.Time) listing {
	t := workloadTable
	if len(objects) > 0 {
		t = tableOf(objects[0].Kind)
	}
	l := listing{header: append([]string{"NAME"}, t.header...), wideHeader: slices.Clone(t.wide), narrow: t.narrow}
	l.narrow.squeeze = []string{"STATE"}
	for _, object := range objects {
		l.names = append(l.names, object.Ref().String())
		cells, wide := t.row(object, now)
		l.rows = append(l.rows, append([]string{shortName(object.Ref())}, cells...))
		l.wideRows = append(l.wideRows, wide)
	}
	return l
}

// shortName returns scope/name, or only the name of an object without a scope.
func shortName(ref api.Ref) string {
	if ref.Scope == api.Unscoped {
		return ref.Name
	}
	return ref.Scope + "/" + ref.Name
}

var workloadTable = table{
	header: []string{"READY", "UPDATED", "RELEASE", "STATE", "AGE"},
	wide:   []string{"IMAGE", "GENERATION", "AUTOSCALE", "MESSAGE"},
	narrow: narrowing{drop: []string{"UPDATED", "AGE", "RELEASE"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		status, _ := api.DecodeStatus[api.WorkloadStatus](object)
		state, message := stateOf(object, status)
		message, _, _ = strings.Cut(message, "\n")
		return []string{
			replicasText(status), fmt.Sprint(status.Updated), dash(status.Release), state,
			age(object.Metadata.CreatedAt, now),
		}, []string{dash(status.Image), fmt.Sprint(object.Metadata.Generation), autoscaleText(object, status), dash(message)}
	},
}

// replicasText returns how many pods are ready, and of how many that is not known: their node is silent.
func replicasText(status api.WorkloadStatus) string {
	text := fmt.Sprintf("%d/%d", min(status.Ready, status.Replicas), status.Replicas)
	if status.Unknown > 0 {
		text += fmt.Sprintf(", %d unknown", status.Unknown)
	}
	return text
}

var ingressTable = table{
	header: []string{"URL", "SERVICE", "PODS", "STATE", "AGE"},
	wide:   []string{"GENERATION", "MESSAGE"},
	narrow: narrowing{drop: []string{"AGE", "SERVICE", "PODS", "URL"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		spec, _ := api.DecodeSpec[api.IngressSpec](object)
		status, _ := api.DecodeStatus[api.IngressStatus](object)
		state, message := stateOf(object, api.WorkloadStatus{Conditions: status.Conditions})
		message, _, _ = strings.Cut(message, "\n")
		return []string{
			cmp.Or(status.URL, spec.Host), cmp.Or(status.Service, spec.Service, object.Name),
			fmt.Sprintf("%d/%d", status.ReadyPods, status.Pods),
			state, age(object.Metadata.CreatedAt, now),
		}, []string{fmt.Sprint(object.Metadata.Generation), dash(message)}
	},
}

// plainTable lists objects of which nothing is known but their conditions.
var plainTable = table{
	header: []string{"STATE", "AGE"},
	wide:   []string{"GENERATION", "MESSAGE"},
	narrow: narrowing{drop: []string{"AGE"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		status, _ := api.DecodeStatus[api.WorkloadStatus](object)
		state, message := stateOf(object, status)
		message, _, _ = strings.Cut(message, "\n")
		return []string{state, age(object.Metadata.CreatedAt, now)},
			[]string{fmt.Sprint(object.Metadata.Generation), dash(message)}
	},
}

var assetTable = table{
	header: []string{"FILES", "AGE"},
	wide:   []string{"GENERATION"},
	narrow: narrowing{drop: []string{"AGE", "FILES"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		spec, _ := api.DecodeSpec[api.AssetSpec](object)
		return []string{fmt.Sprint(len(spec.Files)), age(object.Metadata.CreatedAt, now)},
			[]string{fmt.Sprint(object.Metadata.Generation)}
	},
}

var registryTable = table{
	header: []string{"URL", "LOGIN", "AGE"},
	wide:   []string{"GENERATION"},
	narrow: narrowing{drop: []string{"AGE", "LOGIN"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		spec, _ := api.DecodeSpec[api.RegistrySpec](object)
		login := spec.Username
		if spec.Helper != "" {
			login = "helper " + spec.Helper
		}
		return []string{spec.URL, dash(login), age(object.Metadata.CreatedAt, now)},
			[]string{fmt.Sprint(object.Metadata.Generation)}
	},
}

// stateOf returns one word for the state of an object, with the sentence behind it.
func stateOf(object api.Object, status api.WorkloadStatus) (state, message string) {
	if object.Metadata.Deleting() {
		if c := api.FindCondition(status.Conditions, api.ConditionReady); c != nil && object.Kind.Delivered() {
			return "Deleting", c.Message
		}
		return "Deleting", "its pods are being stopped"
	}
	for _, check := range []string{api.ConditionDegraded, api.ConditionProgressing} {
		if c := api.FindCondition(status.Conditions, check); c != nil && c.Status == api.ConditionTrue {
			return c.Reason, c.Message
		}
	}
	if c := api.FindCondition(status.Conditions, api.ConditionAfterRollout); c != nil && c.Status == api.ConditionFalse {
		return c.Reason, c.Message
	}
	if c := api.FindCondition(status.Conditions, api.ConditionReady); c != nil {
		return c.Reason, c.Message
	}
	if object.Kind.Info().Status == nil {
		return api.ReasonDeclared, "" // nothing reconciles it
	}
	return "New", "not reconciled yet"
}

// nodeTable lists what is declared of nodes; `tend nodes` lists how they are.
var nodeTable = table{
	header: []string{"AVAILABILITY", "INGRESS", "AGE"},
	wide:   []string{"GENERATION"},
	narrow: narrowing{drop: []string{"AGE", "INGRESS"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		spec, _ := api.DecodeSpec[api.NodeSpec](object)
		ingress := "-"
		if spec.Ingress != nil {
			ingress = strconv.FormatBool(*spec.Ingress)
		}
		return []string{cmp.Or(spec.Availability, api.NodeActive), ingress, age(object.Metadata.CreatedAt, now)},
			[]string{fmt.Sprint(object.Metadata.Generation)}
	},
}
