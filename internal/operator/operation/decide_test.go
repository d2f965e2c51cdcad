package operation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/core/approval"
	"tend.dev/tend/internal/core/approval/approvaltest"
	"tend.dev/tend/internal/operator/apply"
	"tend.dev/tend/internal/operator/engine"
	"tend.dev/tend/internal/operator/identity"
)

func sameStatus(a, b *opsv1alpha1.Operation) bool {
	return equality.Semantic.DeepEqual(a.Status, b.Status)
}

// TestTranscripts replays the transcripts of testdata. Run it with -rewrite to record the current decisions, and read
// the difference. All operations are in the namespace prod and have the target web.
//
//	operation NAME TYPE ENGINE [requireReady] [approval]   the input is the parameters in JSON
//	reconcile NAME [steps=N]    decides and carries out the plan, or its first N steps; prints plan, events, conditions
//	object NAME                 the input is merged into the object of the operation
//	gone NAME                   the object of the operation is deleted
//	foreign KIND NAME           an object of something else exists
//	parameters NAME · approve NAME [as=OTHER] [expired] [forged] · cancel NAME · delete NAME
//	target ready|suspended|resumed|missing|deleted|placeholder|back|version=V|window|held|annotation=KEY:VALUE
//	flux ready|failed · install · uninstall · hook · refuse [now] · accept · secret NAME [missing] · tick D
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			return // a failure that rapid keeps
		}
		w := newWorld()
		target := w.target
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "target" && d.CmdArgs[0].Key == "back" {
				w.target = target
				return ""
			}
			return w.command(t, d)
		})
	})
}

func (w *world) command(t *testing.T, d *datadriven.TestData) string {
	arg := ""
	if len(d.CmdArgs) > 0 {
		arg = d.CmdArgs[0].Key
	}
	op := w.find(arg)
	switch d.Cmd {
	case "operation":
		w.now = w.now.Add(time.Second)
		op = w.operation(arg, opsv1alpha1.OperationType(d.CmdArgs[1].Key), opsv1alpha1.Engine(d.CmdArgs[2].Key), d.Input)
		if d.HasArg("requireReady") {
			op.Spec.Policy = &opsv1alpha1.Policy{RequireReady: true}
		}
		if d.HasArg("approval") {
			op.Spec.Approvals = &opsv1alpha1.Approvals{Required: true}
		}
	case "reconcile":
		return w.show(t, op, d)
	case "object":
		var more map[string]any
		if err := yaml.Unmarshal([]byte(d.Input), &more); err != nil {
			d.Fatalf(t, "%v", err)
		}
		object := w.object(op)
		object.Object = MergeValues(object.Object, more)
	case "gone":
		object := w.object(op)
		delete(w.objects, keyOf(object.GetKind(), object.GetNamespace(), object.GetName()))
	case "parameters":
		op.Spec.Parameters = &runtime.RawExtension{Raw: []byte(d.Input)}
		op.Generation++
	case "approve":
		w.claim(t, d, op)
	case "cancel":
		op.Annotations[identity.AnnotationCancel] = "true"
	case "delete":
		now := metav1.NewTime(w.now)
		op.DeletionTimestamp = &now
	case "tick":
		span, err := time.ParseDuration(arg)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		w.now = w.now.Add(span)
	default:
		w.surroundings(t, d, arg)
	}
	return ""
}

func (w *world) surroundings(t *testing.T, d *datadriven.TestData, arg string) {
	switch d.Cmd {
	case "foreign":
		for _, kind := range engine.Kinds() {
			if kind.Kind == arg {
				object := newObject(kind, d.CmdArgs[1].Key)
				w.objects[keyOf(arg, "prod", d.CmdArgs[1].Key)] = object
			}
		}
	case "flux":
		w.flux(arg == "ready")
	case "install", "uninstall":
		w.missing = d.Cmd == "uninstall"
	case "refuse":
		w.refused = &apply.Refusal{Message: "spec.template is invalid", Final: !d.HasArg("now")}
	case "accept":
		w.refused = nil
	case "secret":
		w.secretless = nil
		if d.HasArg("missing") {
			w.secretless = []engine.Need{{GroupVersionKind: engine.KindSecret, Namespace: "prod", Name: arg,
				Reason: opsv1alpha1.BlockedMissingSecret, Next: "create it"}}
		}
	case "conflict":
		w.foreign = nil
		if arg != "none" {
			w.foreign = []apply.Conflict{{Manager: arg, Field: ".spec.template"}}
		}
	case "hook":
		w.release = &engine.Release{Name: "web", Chart: "web", ChartVersion: "1.0.0", Hooks: []engine.Hook{
			{Name: "web-migrate", Kind: "Job", Manifest: "kind: Job\nspec: {template: {spec: {}}}"},
		}}
	case "target":
		w.change(t, d, arg)
	default:
		d.Fatalf(t, "no command %s", d.Cmd)
	}
}

func (w *world) change(t *testing.T, d *datadriven.TestData, arg string) {
	value := ""
	if len(d.CmdArgs[0].Vals) > 0 {
		value = d.CmdArgs[0].Vals[0]
	}
	w.target = w.target.DeepCopy()
	switch arg {
	case "ready", "suspended":
		kind := map[string]string{"ready": "Ready", "suspended": "Suspended"}[arg]
		w.target.Status.Conditions = append(w.target.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue,
		})
	case "held":
		w.target.Status.Conditions = []metav1.Condition{{Type: "Suspended", Status: metav1.ConditionTrue, Reason: "MaintenanceWindow"}}
	case "blocked":
		w.target.Status.Conditions = []metav1.Condition{
			{Type: "Blocked", Status: metav1.ConditionTrue, Reason: value, Message: d.Input},
			{Type: "Ready", Status: metav1.ConditionFalse, Reason: value, Message: d.Input},
		}
	case "suspend":
		w.target.Spec.Suspend = value == "true"
	case "reconcile":
		w.target.Annotations[identity.AnnotationReconcile] = value
	case "resumed":
		w.target.Status.Conditions = nil
	case "missing":
		w.target = nil
	case "deleted":
		now := metav1.NewTime(w.now)
		w.target.DeletionTimestamp = &now
	case "placeholder":
		w.target.Spec.Chart, w.target.Spec.Release, w.target.Spec.Values = nil, nil, nil
	case "version":
		w.target.Spec.Chart.Version = value
		w.target.Generation++
	case "window":
		w.target.Annotations[identity.AnnotationMaintenanceWindow] = d.Input
	case "annotation":
		name, value, _ := strings.Cut(value, ":")
		w.target.Annotations[identity.CapabilityPrefix+name] = value
	default:
		d.Fatalf(t, "no change %s", arg)
	}
}

func (w *world) claim(t *testing.T, d *datadriven.TestData, op *opsv1alpha1.Operation) {
	claim := approval.Claim{Operation: op.Name, By: "ada", Request: 7, Expires: w.now.Add(time.Hour).Unix()}
	key := secret
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "as":
			claim.Operation = arg.Vals[0]
		case "expired":
			claim.Expires = w.now.Add(-time.Second).Unix()
		case "forged":
			key = []byte("another secret")
		}
	}
	text, err := approvaltest.Sign(claim, key)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	op.Spec.Approvals = &opsv1alpha1.Approvals{Required: true, Claim: text}
	op.Generation++
}

// show reconciles, and prints the plan and the resulting status.
func (w *world) show(t *testing.T, op *opsv1alpha1.Operation, d *datadriven.TestData) string {
	steps := 9
	if d.HasArg("steps") {
		d.ScanArgs(t, "steps", &steps)
	}
	plan := w.reconcile(op, steps)
	var out strings.Builder
	fmt.Fprintln(&out, plan)
	for _, event := range plan.Events {
		kind := map[bool]string{true: "Warning", false: "Normal"}[event.Warning]
		fmt.Fprintf(&out, "event %s %s: %s\n", kind, event.Reason, event.Message)
	}
	conditions := slices.Clone(plan.Status.Conditions)
	slices.SortFunc(conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	for _, c := range conditions {
		fmt.Fprintf(&out, "  %s=%s %s\n", c.Type, c.Status, c.Reason)
	}
	if plan.Status.Outputs != nil {
		fmt.Fprintf(&out, "  outputs %s\n", plan.Status.Outputs.Raw)
	}
	if ref := plan.Status.EngineRef; ref != nil {
		fmt.Fprintf(&out, "  engineRef %s %s/%s %s\n", ref.Kind, ref.Namespace, ref.Name, cmp.Or(ref.UID, "not seen"))
	}
	since := func(at *metav1.Time) string {
		if at == nil {
			return "-"
		}
		return at.Sub(epoch).String()
	}
	fmt.Fprintf(&out, "  started %s, finished %s, generation %d\n", since(plan.Status.StartedAt), since(plan.Status.FinishedAt), plan.Status.ObservedGeneration)
	return out.String()
}
