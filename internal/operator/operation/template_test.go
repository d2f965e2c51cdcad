package operation

import (
	"strings"
	"testing"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		kind       opsv1alpha1.OperationType
		engine     opsv1alpha1.Engine
		parameters string
		want       string // a part of the error, or none
	}{
		"no parameters are an empty object":   {"Backup", "velero", "", ""},
		"all of a backup":                     {"Backup", "velero", `{"retention":"30d","ttl":"720h","snapshotClassName":"a","csiSnapshotClassName":"b","snapshotVolumes":true,"storageLocation":"c","includedResources":["x"],"excludedResources":[],"timeoutSeconds":5}`, ""},
		"a duration that Velero doesn't know": {"Backup", "velero", `{"retention":"a month"}`, "spec.parameters.retention"},
		"no duration at all":                  {"Backup", "velero", `{"ttl":"0d"}`, "spec.parameters.ttl"},
		"a word that is misspelled":           {"Backup", "velero", `{"retentoin":"30d"}`, "spec.parameters.retentoin: there is no such parameter"},
		"another case":                        {"Backup", "velero", `{"TTL":"30d"}`, "there is no such parameter"},
		"text for a bool":                     {"Backup", "velero", `{"snapshotVolumes":"yes"}`, "must be true or false"},
		"a list of other things":              {"Backup", "velero", `{"includedResources":["a",1]}`, "spec.parameters.includedResources[1] must be a string"},
		"no object":                           {"Backup", "velero", `[]`, "spec.parameters must be an object"},
		"a restore of nothing":                {"Restore", "velero", `{}`, "spec.parameters.backupName is required"},
		"a restore of an empty name":          {"Restore", "velero", `{"backupName":""}`, "must not be empty"},
		"a policy that Velero doesn't have":   {"Restore", "velero", `{"backupName":"b","existingResourcePolicy":"all"}`, "must be one of"},
		"a map of other things":               {"Restore", "velero", `{"backupName":"b","namespaceMapping":{"a":1}}`, "must be a map of strings"},
		"an upgrade to nothing":               {"Upgrade", "helm", `{}`, "targetVersion or valuesPatch"},
		"an upgrade of values":                {"Upgrade", "helm", `{"valuesPatch":{"any":{"thing":[1]}}}`, ""},
		"a hook with an image":                {"Migration", "helmHookJob", `{"hookName":"a","image":"b"}`, "there is no such parameter"},
		"a hook whose name can't be a label":  {"Migration", "helmHookJob", `{"hookName":"a b"}`, "must match"},
		"a command":                           {"RunCommand", "job", `{"image":"a","command":["b"],"env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}],"serviceAccountName":"vworkspace-operation-runner"}`, ""},
		"a command as another account":        {"RunCommand", "job", `{"image":"a","serviceAccountName":"default"}`, "must be one of"},
		"an environment without a name":       {"RunCommand", "job", `{"image":"a","env":[{"value":"1"}]}`, "spec.parameters.env[0].name is required"},
		"an environment as a map":             {"RunCommand", "job", `{"image":"a","env":{"A":"1"}}`, "must be a list of objects"},
		"a fraction":                          {"RunCommand", "job", `{"image":"a","backoffLimit":1.5}`, "must be a whole number"},
		"a number below the least":            {"RunCommand", "job", `{"image":"a","backoffLimit":-1}`, "must be at least 0"},
		"a Job that is gone at its end":       {"RunCommand", "job", `{"image":"a","ttlSecondsAfterFinished":0}`, "must be at least 60"},
		"a workflow":                          {"Runbook", "workflow", `{"workflowTemplate":"a","workflowTemplateParameters":{"b":"c"}}`, ""},
		"a workflow by the older name":        {"Migration", "workflow", `{"template":"a"}`, ""},
		"no workflow":                         {"Runbook", "workflow", `{"timeoutSeconds":1}`, "workflowTemplate or template"},
		"a replication":                       {"Backup", "volsync", `{"pvc":"a","repository":{"secretName":"b","type":"restic"},"retain":{"daily":7}}`, ""},
		"a replication without a repository":  {"Backup", "volsync", `{"pvc":"a"}`, "repository or volumeSnapshot"},
		"a repository without a Secret":       {"Backup", "volsync", `{"pvc":"a","repository":{}}`, "spec.parameters.repository.secretName is required"},
		"a source":                            {"Backup", "volsync", `{"source":{"sourcePVC":"a"},"repository":{"secretName":"b"}}`, ""},
		"two sources":                         {"Backup", "volsync", `{"pvc":"a","source":{"sourcePVC":"a"},"repository":{"secretName":"b"}}`, "one of pvc, source"},
		"no source":                           {"Backup", "volsync", `{"repository":{"secretName":"b"}}`, "one of pvc, source"},
		"a backup with a destination":         {"Backup", "volsync", `{"pvc":"a","destination":{},"repository":{"secretName":"b"}}`, "there is no such parameter"},
		"a backup as a destination":           {"Backup", "volsync", `{"pvc":"a","direction":"destination","repository":{"secretName":"b"}}`, "must be one of [source]"},
		"a destination":                       {"Restore", "volsync", `{"destination":{"destinationPVC":"a","restoreAsOf":"2026-11-20T00:00:00Z"},"repository":{"secretName":"b"}}`, ""},
		"a new volume":                        {"Restore", "volsync", `{"destination":{"capacity":"1Gi","accessModes":["ReadWriteOnce"]},"repository":{"secretName":"b"}}`, ""},
		"a new volume without a mode":         {"Restore", "volsync", `{"destination":{"capacity":"1Gi"},"repository":{"secretName":"b"}}`, "needs one volume"},
		"no destination":                      {"Restore", "volsync", `{"repository":{"secretName":"b"}}`, "needs one volume"},
		"two destinations":                    {"Restore", "volsync", `{"pvc":"a","destination":{"destinationPVC":"b"},"repository":{"secretName":"b"}}`, "needs one volume"},
		"a snapshot before the newest one":    {"Restore", "volsync", `{"pvc":"a","destination":{"previous":1},"repository":{"secretName":"b"}}`, ""},
		"a restore on a schedule":             {"Restore", "volsync", `{"pvc":"a","repository":{"secretName":"b"},"schedule":"@daily"}`, "there is no such parameter"},
		"an engine that can't":                {"Upgrade", "velero", `{}`, `can't be done by "velero": engines that can are helm`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			op := newWorld().operation("x", test.kind, test.engine, test.parameters)
			err := Validate(op)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestTargetsOfOtherKindsAreRefused: the operator refuses other targets even if the server lacks the CRD's rules.
func TestTargetsOfOtherKindsAreRefused(t *testing.T) {
	for _, change := range []func(*opsv1alpha1.TargetRef){
		func(ref *opsv1alpha1.TargetRef) { ref.Kind = "Deployment" },
		func(ref *opsv1alpha1.TargetRef) { ref.APIVersion = "apps/v1" },
		func(ref *opsv1alpha1.TargetRef) { ref.Name = " " },
	} {
		op := newWorld().operation("x", opsv1alpha1.TypeBackup, opsv1alpha1.EngineVelero, "")
		change(&op.Spec.TargetRef)
		if Validate(op) == nil {
			t.Errorf("%+v is accepted", op.Spec.TargetRef)
		}
	}
}
