package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
	"tend.dev/tend/internal/operator/identity"
)

// Template describes a type of operation with one engine.
type Template struct {
	// Name is the template's name, such as backup.velero.
	Name string
	// Approval says that a person must approve each operation.
	Approval bool
	// Capabilities are verbs. The target must advertise one of them with the engine.
	Capabilities []string
	// Parameters are the parameters by name.
	Parameters map[string]Field
	// Rule checks constraints between parameters. Nil checks nothing.
	Rule func(values map[string]any) error
}

type key struct {
	kind   opsv1alpha1.OperationType
	engine opsv1alpha1.Engine
}

// TemplateOf returns the template of a type with an engine.
func TemplateOf(kind opsv1alpha1.OperationType, engine opsv1alpha1.Engine) (Template, error) {
	template, found := templates[key{kind, engine}]
	if !found {
		var can []string
		for pair := range maps.Keys(templates) {
			if pair.kind == kind {
				can = append(can, string(pair.engine))
			}
		}
		slices.Sort(can)
		return Template{}, fmt.Errorf("spec.engine: %s can't be done by %q: engines that can are %s", kind, engine, strings.Join(can, ", "))
	}
	template.Capabilities = append([]string{strings.ToLower(string(kind))}, template.Capabilities...)
	return template, nil
}

// TemplateNames returns the names of the templates of all allowed types.
func TemplateNames(allowed func(opsv1alpha1.OperationType) bool) (names []string) {
	for pair, template := range templates {
		if allowed(pair.kind) {
			names = append(names, template.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Advertised reports whether the target advertises this action with the engine. An annotation names one engine, or
// several separated by commas.
func (t Template) Advertised(target *appsv1alpha1.ApplicationInstance, engine opsv1alpha1.Engine) bool {
	for _, verb := range t.Capabilities {
		for name := range strings.SplitSeq(target.Annotations[identity.CapabilityPrefix+verb], ",") {
			if strings.TrimSpace(name) == string(engine) {
				return true
			}
		}
	}
	return false
}

// Validate returns the faults of an operation's spec that can be found without other objects. The admission webhook and
// the controller use the same rules.
func Validate(op *opsv1alpha1.Operation) error {
	ref := op.Spec.TargetRef
	if ref.APIVersion != appsv1alpha1.GroupVersion.String() || ref.Kind != "ApplicationInstance" || strings.TrimSpace(ref.Name) == "" {
		return fmt.Errorf("spec.targetRef must name an ApplicationInstance of %s", appsv1alpha1.GroupVersion)
	}
	template, err := TemplateOf(op.Spec.Type, op.Spec.Engine)
	if err != nil {
		return err
	}
	values := map[string]any{}
	if raw := op.Spec.Parameters; raw != nil && len(raw.Raw) > 0 {
		if err := json.Unmarshal(raw.Raw, &values); err != nil {
			return fmt.Errorf("spec.parameters must be an object: %w", err)
		}
	}
	if err := checkObject("spec.parameters", template.Parameters, values); err != nil {
		return err
	}
	if template.Rule != nil {
		return template.Rule(values)
	}
	return nil
}

var (
	labelValue = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	resources  = Field{Type: Texts}
	seconds    = Field{Type: Integer, Min: 1}
	attempts   = Field{Type: Integer}
	keep       = Field{Type: Integer, Min: 60} // a Job that is removed at once would end unseen
	text       = Field{Type: Text}
	name       = Field{Type: Text, NotEmpty: true}
	runner     = Field{Type: Text, Enum: []string{identity.RunnerServiceAccount}}
)

var templates = map[key]Template{
	{opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero}: {Name: "backup.velero", Parameters: with(map[string]Field{
		"retention": {Type: Duration}, "ttl": {Type: Duration}, "snapshotClassName": text, "csiSnapshotClassName": text,
		"snapshotVolumes": {Type: Bool}, "storageLocation": text, "includedResources": resources, "excludedResources": resources,
	})},
	{opsv1alpha1.TypeRestore, opsv1alpha1.EngineVelero}: {Name: "restore.velero", Approval: true, Parameters: with(map[string]Field{
		"backupName": {Type: Text, NotEmpty: true, Required: true}, "namespaceMapping": {Type: TextMap}, "restorePVs": {Type: Bool},
		"existingResourcePolicy": {Type: Text, Enum: []string{"none", "update"}}, "includedResources": resources, "excludedResources": resources,
	})},
	{opsv1alpha1.TypeUpgrade, opsv1alpha1.EngineHelm}: {Name: "upgrade.helm", Rule: oneOf("targetVersion", "valuesPatch"), Parameters: with(map[string]Field{
		"targetVersion": name, "valuesPatch": {Type: Object},
	})},
	{opsv1alpha1.TypeMigration, opsv1alpha1.EngineHelmHookJob}: {Name: "migration.helmHookJob", Parameters: with(map[string]Field{
		"hookName":              {Type: Text, Required: true, Pattern: labelValue},
		"activeDeadlineSeconds": seconds, "backoffLimit": attempts, "ttlSecondsAfterFinished": keep,
	})},
	{opsv1alpha1.TypeRunCommand, opsv1alpha1.EngineJob}: {Name: "runCommand.job", Parameters: with(map[string]Field{
		"image": {Type: Text, NotEmpty: true, Required: true}, "command": {Type: Texts}, "args": {Type: Texts},
		"env": {Type: Objects, Fields: map[string]Field{
			"name": {Type: Text, NotEmpty: true, Required: true}, "value": text, "valueFrom": {Type: Object},
		}},
		"activeDeadlineSeconds": seconds, "backoffLimit": attempts, "ttlSecondsAfterFinished": keep, "serviceAccountName": runner,
	})},
	{opsv1alpha1.TypeRunbook, opsv1alpha1.EngineWorkflow}:   workflow("runbook.workflow"),
	{opsv1alpha1.TypeMigration, opsv1alpha1.EngineWorkflow}: workflow("migration.workflow"),
	{opsv1alpha1.TypeBackup, opsv1alpha1.EngineVolSync}:     volsync("backup.volsync", false),
	{opsv1alpha1.TypeRestore, opsv1alpha1.EngineVolSync}:    volsync("restore.volsync", true),
}

// with adds the parameters that all templates have.
func with(fields map[string]Field) map[string]Field {
	fields["timeoutSeconds"] = Field{Type: Integer} // 0 means no limit
	return fields
}

func workflow(template string) Template {
	return Template{Name: template, Rule: oneOf("workflowTemplate", "template"), Parameters: with(map[string]Field{
		"workflowTemplate": name, "template": name, "workflowTemplateParameters": {Type: TextMap}, "serviceAccountName": runner,
		"targetChartVersion": text, "snapshotClassName": text, "failureAction": text,
	})}
}

// volsync returns the template of replications. A restore writes a volume. Only a backup can be a snapshot or have a
// schedule.
func volsync(template string, restore bool) Template {
	made := Template{Name: template, Approval: restore, Capabilities: []string{"replicate"}, Parameters: with(map[string]Field{
		"pvc": name, "volumeSnapshotClassName": text,
		"copyMethod": {Type: Text, Enum: []string{"Direct", "Clone", "Snapshot"}},
		"repository": {Type: Object, Fields: map[string]Field{
			"secretName": {Type: Text, NotEmpty: true, Required: true}, "type": {Type: Text, Enum: []string{"restic"}},
		}},
	})}
	if restore {
		made.Parameters["direction"] = Field{Type: Text, Enum: []string{"destination"}}
		made.Parameters["restoreAsOf"] = text
		made.Parameters["destination"] = Field{Type: Object, Fields: map[string]Field{
			"destinationPVC": name, "capacity": name, "storageClassName": name, "restoreAsOf": text, "previous": attempts,
			"accessModes": {Type: Texts},
		}}
		made.Rule = all(oneOf("repository"), restoreVolume)
		return made
	}
	copies := Field{Type: Integer, Min: 1}
	made.Parameters["direction"] = Field{Type: Text, Enum: []string{"source"}}
	made.Parameters["schedule"] = name
	made.Parameters["retain"] = Field{Type: Object, Fields: map[string]Field{
		"hourly": copies, "daily": copies, "weekly": copies, "monthly": copies, "yearly": copies,
	}}
	made.Parameters["volumeSnapshot"] = Field{Type: Bool}
	made.Parameters["source"] = Field{Type: Object, Fields: map[string]Field{"sourcePVC": {Type: Text, NotEmpty: true, Required: true}}}
	made.Rule = all(oneOf("repository", "volumeSnapshot"), exactlyOne("pvc", "source"))
	return made
}

// restoreVolume is the rule that a restore has one volume to write: an existing one, or one that VolSync makes.
func restoreVolume(values map[string]any) error {
	to, _ := values["destination"].(map[string]any)
	if exists, made := to["destinationPVC"] != nil, to["capacity"] != nil && to["accessModes"] != nil; (values["pvc"] != nil) == (exists || made) {
		return errors.New("spec.parameters needs one volume: pvc, destination.destinationPVC, or destination.capacity with accessModes")
	}
	return nil
}

// all returns a rule that combines rules.
func all(rules ...func(map[string]any) error) func(map[string]any) error {
	return func(values map[string]any) error {
		for _, rule := range rules {
			if err := rule(values); err != nil {
				return err
			}
		}
		return nil
	}
}

// exactlyOne returns the rule that exactly one of the parameters is given.
func exactlyOne(names ...string) func(map[string]any) error {
	return func(values map[string]any) error {
		given := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return values[name] == nil })
		if len(given) != 1 {
			return fmt.Errorf("spec.parameters needs one of %s, and has %d", strings.Join(names, ", "), len(given))
		}
		return nil
	}
}

// oneOf returns the rule that at least one of the parameters is given.
func oneOf(names ...string) func(map[string]any) error {
	return func(values map[string]any) error {
		for _, name := range names {
			if _, given := values[name]; given {
				return nil
			}
		}
		return errors.New("spec.parameters needs " + strings.Join(names, " or "))
	}
}
