package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Kind names a sort of object. It is the block type of a manifest and a segment of every key and path.
type Kind string

// The kinds of the table below that other code names.
const (
	KindDeployment  Kind = "deployment"
	KindApp         Kind = "app"
	KindStatefulSet Kind = "statefulset"
	KindJob         Kind = "job"
	KindCronJob     Kind = "cronjob"
	KindIngress     Kind = "ingress"
	KindAsset       Kind = "asset"
	KindRegistry    Kind = "registry"
	KindLab         Kind = "lab"
	KindNode        Kind = "node"
	KindNetwork     Kind = "network"
	KindSink        Kind = "sink"
	KindSync        Kind = "sync"
	KindCluster     Kind = "cluster"
	KindOperation   Kind = "operation"

	KindApplicationInstance Kind = "applicationinstance"
)

// KindInfo describes a kind to everything that handles objects of all kinds: manifests and their schema, validation,
// the store, the verbs, the server and the commands.
type KindInfo struct {
	Kind Kind
	// Short are further names that users may type for it.
	Short []string
	// Spec is the type of its spec; nil for a kind that no manifest may declare.
	Spec reflect.Type
	// Status is the type of the status that its controller writes; nil for a kind without a controller, whose objects
	// take effect once they are stored.
	Status reflect.Type
	// Scope is the rule for the scope of its objects.
	Scope ScopeRule
	// Only is the only allowed name of an object of the kind; empty allows any name.
	Only string
	// Slots: its objects keep slots filled. Runs: they run to an end. Boxed: each is one container with a start and an
	// end.
	Slots, Runs, Boxed bool
	// Finalizer keeps a deleted object until its controller has removed what it made; empty if nothing does.
	Finalizer string
	// Private: no value of its fields is shown where changes are.
	Private bool
	// Later is the message of an apply that only stores the object, such as "registered". If it is empty, the apply waits
	// for the object. Of a kind with runs, an apply waits until one could begin.
	Later string
	// Delivered: its objects are sent to the Kubernetes cluster that their spec names, and their state comes from there.
	Delivered bool
	// Versions: each spec that is delivered is kept as a numbered release, and an earlier one can be put back.
	Versions bool
	// StandsFor are the kinds that a manifest of this kind declares objects of; empty if it is stored itself.
	StandsFor []Kind
	// check adds what is wrong with a spec.
	check func(*checker, json.RawMessage)
	// fixed adds which fields a change sets although they are fixed, for an object in a phase; nil if none is.
	fixed func(c *checker, old, next json.RawMessage, phase string)
}

// ScopeRule is the rule for the scope of a kind's objects.
type ScopeRule int

// The values of ScopeRule.
const (
	// ScopeRequired: a name is unique in its scope.
	ScopeRequired ScopeRule = iota
	// ScopeOptional: an object without a scope is in Unscoped.
	ScopeOptional
	// ScopeNone: every object is in Unscoped.
	ScopeNone
)

// Kinds lists every kind of the table, in the order listings show them.
var Kinds []Kind

var kindTable = map[Kind]KindInfo{}

// The table of kinds. It is filled here and not where it is declared, because the checks read it too.
func init() {
	slots := func(i KindInfo) KindInfo { i.Slots, i.Finalizer = true, FinalizerTasks; return i }
	runs := func(i KindInfo) KindInfo { i.Runs, i.Finalizer = true, FinalizerTasks; return i }
	delivered := func(i KindInfo, fixed func(*checker, json.RawMessage, json.RawMessage, string)) KindInfo {
		i.Delivered, i.Finalizer, i.fixed = true, FinalizerCluster, fixed
		return i
	}
	boxed := func(i KindInfo) KindInfo { i.Boxed, i.Finalizer = true, FinalizerTasks; return i }
	for _, info := range []KindInfo{
		slots(kindOf[DeploymentSpec, WorkloadStatus](KindInfo{Kind: KindDeployment, Short: []string{"deploy"}},
			(*checker).deployment)),
		{Kind: KindApp, Spec: reflect.TypeFor[AppSpec](), StandsFor: []Kind{KindDeployment, KindIngress}},
		slots(kindOf[StatefulSetSpec, WorkloadStatus](KindInfo{Kind: KindStatefulSet, Short: []string{"sts"}},
			(*checker).statefulSet)),
		runs(kindOf[JobSpec, JobStatus](KindInfo{Kind: KindJob, Later: "registered"}, (*checker).job)),
		runs(kindOf[CronJobSpec, JobStatus](KindInfo{Kind: KindCronJob, Short: []string{"cj"}, Later: "registered"},
			(*checker).cronJob)),
		kindOf[IngressSpec, IngressStatus](KindInfo{Kind: KindIngress, Short: []string{"ing", "svc", "service", "services"}},
			(*checker).ingress),
		kindOf[AssetSpec, NoStatus](KindInfo{Kind: KindAsset, Scope: ScopeOptional, Private: true}, (*checker).asset),
		kindOf[RegistrySpec, NoStatus](KindInfo{Kind: KindRegistry, Scope: ScopeNone, Private: true}, (*checker).registry),
		boxed(kindOf[LabSpec, LabStatus](KindInfo{Kind: KindLab,
			Short: []string{"labinstancerequest", "labinstancerequests"}}, (*checker).lab)),
		kindOf[NodeSpec, NoStatus](KindInfo{Kind: KindNode, Scope: ScopeNone}, (*checker).node),
		kindOf[NetworkSpec, NetworkStatus](KindInfo{Kind: KindNetwork, Scope: ScopeNone, Only: Network},
			(*checker).nodeNetwork),
		kindOf[SinkSpec, SinkStatus](KindInfo{Kind: KindSink, Scope: ScopeNone, Private: true}, (*checker).sink),
		kindOf[SyncSpec, SyncStatus](KindInfo{Kind: KindSync, Scope: ScopeNone, Private: true}, (*checker).sync),
		kindOf[ClusterSpec, ClusterStatus](KindInfo{Kind: KindCluster, Scope: ScopeNone, Later: "declared"}, (*checker).cluster),
		delivered(kindOf[ApplicationInstanceSpec,
			DeliveredStatus](KindInfo{Kind: KindApplicationInstance, Short: []string{"appinst"}, Versions: true},
			(*checker).applicationInstance), (*checker).fixedInstance),
		delivered(kindOf[OperationSpec, DeliveredStatus](KindInfo{Kind: KindOperation, Short: []string{"op"}},
			(*checker).operation), (*checker).fixedOperation),
	} {
		RegisterKind(info)
	}
}

// NoStatus is the status of a kind without a controller.
type NoStatus struct{}

// KindOf returns info with the types of a kind's spec and status and with its validation: the spec is decoded strictly,
// and what check says of it is wrong with the object.
func KindOf[Spec, Status any](info KindInfo, check func(Spec) []FieldError) KindInfo {
	return kindOf[Spec, Status](info, func(c *checker, spec Spec) {
		for _, e := range check(spec) {
			c.add(e.Field, "%s", e.Detail)
		}
	})
}

func kindOf[Spec, Status any](info KindInfo, check func(*checker, Spec)) KindInfo {
	info.Spec, info.Status = reflect.TypeFor[Spec](), reflect.TypeFor[Status]()
	if info.Status == reflect.TypeFor[NoStatus]() {
		info.Status = nil
	}
	info.check = func(c *checker, raw json.RawMessage) {
		validate(c, raw, func(spec Spec) { check(c, spec) })
	}
	return info
}

// RegisterKind adds a kind to the table, before anything reads it, and returns it. A kind that is registered twice, or
// whose spec nothing checks, is a mistake of the program, and panics.
func RegisterKind(info KindInfo) KindInfo {
	if _, known := kindTable[info.Kind]; known {
		panic("kind " + string(info.Kind) + " is registered twice")
	}
	if info.Spec != nil && info.check == nil && len(info.StandsFor) == 0 {
		panic("kind " + string(info.Kind) + " has no check of its spec: make it with KindOf")
	}
	Kinds = append(Kinds, info.Kind)
	kindTable[info.Kind] = info
	return info
}

// Info returns the kind's row of the table; a zero KindInfo for a macro.
func (k Kind) Info() KindInfo { return kindTable[k] }

// Core reports whether the kind is one of Tend's own. An object of any other kind is a macro: the plugin of the kind's
// name says which objects it stands for, and it is never stored itself.
func (k Kind) Core() bool { _, core := kindTable[k]; return core }

// HasSlots reports whether objects of the kind keep slots filled: they scale, restart, roll out and roll back.
func (k Kind) HasSlots() bool { return k.Info().Slots }

// HasRuns reports whether objects of the kind run to an end.
func (k Kind) HasRuns() bool { return k.Info().Runs }

// TimeBoxed reports whether objects of the kind are containers with a start and an end.
func (k Kind) TimeBoxed() bool { return k.Info().Boxed }

// Serves reports whether the pods of the kind may serve requests.
func (k Kind) Serves() bool { return k.HasSlots() || k.TimeBoxed() }

// Delivered reports whether objects of the kind are sent to a Kubernetes cluster.
func (k Kind) Delivered() bool { return k.Info().Delivered }

// HasVersions reports whether what is delivered of its objects is kept as numbered releases.
func (k Kind) HasVersions() bool { return k.Info().Versions }

// RollsBack reports whether its objects can return to an earlier release.
func (k Kind) RollsBack() bool { return k.HasSlots() || k.HasVersions() }

// HasContainers reports whether anything of the kind runs in containers.
func (k Kind) HasContainers() bool { return k.HasSlots() || k.HasRuns() || k.TimeBoxed() }

// HasController reports whether something works on objects of the kind; those of the others take effect once they are
// stored.
func (k Kind) HasController() bool { return k.Info().Status != nil }

// Stored reports whether the store has objects of the kind.
func (k Kind) Stored() bool { i := k.Info(); return i.Spec != nil && len(i.StandsFor) == 0 }

// KindsThat returns the kinds of the table that are as asked, such as Kind.HasSlots.
func KindsThat(are func(Kind) bool) []Kind {
	return slices.DeleteFunc(slices.Clone(Kinds), func(k Kind) bool { return !are(k) })
}

// Plural is the kind's word for several.
func (k Kind) Plural() string {
	switch {
	case strings.HasSuffix(string(k), "y"):
		return strings.TrimSuffix(string(k), "y") + "ies"
	case strings.HasSuffix(string(k), "s"):
		return string(k) + "es"
	}
	return string(k) + "s"
}

// ParseKind reads a kind as people type it: any case, one or several, or with a plain s behind it.
func ParseKind(text string) (Kind, error) {
	lower := strings.ToLower(strings.TrimSpace(text))
	for _, kind := range Kinds {
		if lower == string(kind) || lower == string(kind)+"s" || lower == kind.Plural() {
			return kind, nil
		}
	}
	return "", fmt.Errorf("unknown kind %q", text)
}
