package podlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1alpha1 "tend.dev/tend/api/kube/apps/v1alpha1"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/identity"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// asked is a query for all that the application has.
var asked = pull.Query{ID: "q", Namespace: "prod", Name: "shop", Object: "u1", Tail: 1000}

// cluster is a Kubernetes cluster with the application shop, whose chart made a Deployment and a StatefulSet.
type cluster struct {
	*testing.T
	objects []client.Object
	// printed has the output of containers, by pod/container; failing has the errors of those that can't be read.
	printed map[string]string
	failing map[string]error
	// forbidden are the kinds that may not be read.
	forbidden []string
	// opened are the outputs that were opened.
	opened  []string
	options corev1.PodLogOptions
}

func metaOf(name, uid string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "prod", Name: name, UID: types.UID(uid), OwnerReferences: owners}
}

func by(version, kind, name, uid string) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: types.UID(uid), Controller: &yes}
}

func newCluster(t *testing.T) *cluster {
	app := &appsv1alpha1.ApplicationInstance{ObjectMeta: metaOf("shop", "app-uid")}
	app.Labels = map[string]string{identity.LabelManagedBy: identity.ManagedBy}
	app.Annotations = map[string]string{pull.AnnotationObject: "u1.3"}
	app.Status.HelmReleaseRef = &appsv1alpha1.ObjectRef{Namespace: "prod", Name: "shop"}
	release := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"inventory": map[string]any{"entries": []any{
		map[string]any{"id": "prod_web_apps_Deployment", "v": "v1"}, map[string]any{"id": "prod_db_apps_StatefulSet", "v": "v1"},
		map[string]any{"id": "prod_clean_batch_CronJob", "v": "v1"}, map[string]any{"id": "prod_main_db.example.org_Postgres", "v": "v1"},
		map[string]any{"id": "prod_lone__Pod", "v": "v1"}, map[string]any{"id": "other_stray__Pod", "v": "v1"},
	}}}}}
	release.SetGroupVersionKind(kindHelmRelease)
	release.SetNamespace("prod")
	release.SetName("shop")
	release.SetOwnerReferences([]metav1.OwnerReference{by(appsv1alpha1.GroupVersion.String(), "ApplicationInstance", "shop", "app-uid")})
	c := &cluster{T: t, printed: map[string]string{}, failing: map[string]error{}}
	c.objects = []client.Object{app, release,
		&appsv1.Deployment{ObjectMeta: metaOf("web", "d1")}, &appsv1.StatefulSet{ObjectMeta: metaOf("db", "s1")},
		&batchv1.CronJob{ObjectMeta: metaOf("clean", "c1")},
		&appsv1.ReplicaSet{ObjectMeta: metaOf("web-7d", "r1", by("apps/v1", "Deployment", "web", "d1"))},
		&batchv1.Job{ObjectMeta: metaOf("clean-1", "j1", by("batch/v1", "CronJob", "clean", "c1"))},
	}
	return c
}

// pod adds a pod with containers that run, named as they are, and what each prints.
func (c *cluster) pod(name string, owner *metav1.OwnerReference, containers ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metaOf(name, "uid-"+name)}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	for i, container := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: container})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: container,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
		c.printed[name+"/"+container] = stamped(i, name+" prints in "+container)
	}
	c.objects = append(c.objects, pod)
	return pod
}

func stamped(second int, text string) string {
	return noon.Add(time.Duration(second)*time.Second).Format(time.RFC3339Nano) + " " + text + "\n"
}

func (c *cluster) reader() *Reader {
	scheme := runtime.NewScheme()
	_, _ = clientscheme.AddToScheme(scheme), appsv1alpha1.AddToScheme(scheme)
	refuse := func(kind string) error {
		if slices.Contains(c.forbidden, kind) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "x", errors.New("no rights"))
		}
		return nil
	}
	live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(
			ctx context.Context, w client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption,
		) error {
			if err := refuse(o.GetObjectKind().GroupVersionKind().Kind); err != nil {
				return err
			}
			return w.Get(ctx, key, o, opts...)
		},
	}).Build()
	open := func(_ context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		name := pod + "/" + o.Container
		c.opened, c.options = append(c.opened, name), *o
		if err := refuse("pods/log"); err != nil {
			return nil, err
		}
		if err := c.failing[name]; err != nil {
			return nil, err
		}
		if namespace != "prod" {
			c.Errorf("output of namespace %s is read", namespace)
		}
		return io.NopCloser(strings.NewReader(c.printed[name])), nil
	}
	return &Reader{Live: live, Open: open}
}

// shown returns an answer as text.
func shown(a pull.Answer) (lines []string) {
	for _, output := range a.Outputs {
		for _, line := range output.Lines {
			lines = append(lines, output.Pod+"/"+output.Container+": "+line.Text)
		}
		if output.Error != "" {
			lines = append(lines, output.Pod+"/"+output.Container+"! "+output.Error)
		}
	}
	for _, note := range a.Notes {
		lines = append(lines, "note: "+note)
	}
	if a.Refusal != nil {
		lines = append(lines, string(a.Refusal.Reason)+": "+a.Refusal.Message)
	}
	return lines
}

func (c *cluster) want(q pull.Query, want ...string) {
	c.Helper()
	if diff := cmp.Diff(want, shown(c.reader().Answer(c.Context(), q))); diff != "" {
		c.Error(diff)
	}
}

// TestOnlyPodsOfTheChart: the pods whose controllers lead to what the chart made are read. No other pod of the
// namespace is read, whatever its references say.
func TestOnlyPodsOfTheChart(t *testing.T) {
	c := newCluster(t)
	ref := func(version, kind, name, uid string) *metav1.OwnerReference {
		r := by(version, kind, name, uid)
		return &r
	}
	c.pod("web-7d-a", ref("apps/v1", "ReplicaSet", "web-7d", "r1"), "app", "sidecar")
	c.pod("db-0", ref("apps/v1", "StatefulSet", "db", "s1"), "postgres")
	c.pod("clean-1-x", ref("batch/v1", "Job", "clean-1", "j1"), "clean")
	c.pod("lone", nil, "alone")
	// none of these is the application's
	c.pod("stranger", nil, "app")
	c.pod("stray", nil, "app") // the chart's is in another namespace
	c.pod("forged-gone", ref("apps/v1", "ReplicaSet", "gone", "r9"), "app")
	c.pod("forged-uid", ref("apps/v1", "Deployment", "web", "d9"), "app")
	c.pod("forged-kind", ref("v1", "Nothing", "web", "d1"), "app")
	c.pod("forged-group", ref("example.org/v1", "Deployment", "web", "d1"), "app")
	owned := c.pod("owned-not-controlled", ref("apps/v1", "Deployment", "web", "d1"), "app")
	owned.OwnerReferences[0].Controller = nil
	c.objects = append(c.objects, &appsv1.ReplicaSet{ObjectMeta: metaOf("loop-a", "l1", by("apps/v1", "ReplicaSet", "loop-b", "l2"))},
		&appsv1.ReplicaSet{ObjectMeta: metaOf("loop-b", "l2", by("apps/v1", "ReplicaSet", "loop-a", "l1"))},
		&appsv1.ReplicaSet{ObjectMeta: metaOf("fake", "f1", by("apps/v1", "Deployment", "web", "d9"))})
	c.pod("loops", ref("apps/v1", "ReplicaSet", "loop-a", "l1"), "app")
	c.pod("forged-above", ref("apps/v1", "ReplicaSet", "fake", "f1"), "app")
	c.want(asked, "clean-1-x/clean: clean-1-x prints in clean", "db-0/postgres: db-0 prints in postgres", "lone/alone: lone prints in alone",
		"web-7d-a/app: web-7d-a prints in app", "web-7d-a/sidecar: web-7d-a prints in sidecar")
	for _, name := range []string{"stranger", "forged-gone", "forged-uid", "loops", "absent"} {
		q := asked
		q.Pod = name
		c.want(q, "NotFound: namespace prod has no pod "+name+" that belongs to what the chart made")
	}
	q := asked
	q.Pod, q.Container = "web-7d-a", "sidecar"
	c.want(q, "web-7d-a/sidecar: web-7d-a prints in sidecar")
	q.Container = "nginx"
	c.want(q, "NotFound: no pod has a container nginx; there is app, sidecar")
}

// TestNotThisApplication: a query is bound to the control plane's object, and to the release of it.
func TestNotThisApplication(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		change func(*pull.Query, *appsv1alpha1.ApplicationInstance, *unstructured.Unstructured)
		want   string
	}{
		"another uid": {"the object was made anew since", func(q *pull.Query, _ *appsv1alpha1.ApplicationInstance, _ *unstructured.Unstructured) {
			q.Object = "u2"
		}, "is not the object that was asked about"},
		"no uid": {"an object that nobody declared", func(q *pull.Query, app *appsv1alpha1.ApplicationInstance, _ *unstructured.Unstructured) {
			q.Object, app.Annotations = "", nil
			app.Labels = nil
		}, "is not the object that was asked about"},
		"gone": {"it is not there", func(q *pull.Query, _ *appsv1alpha1.ApplicationInstance, _ *unstructured.Unstructured) {
			q.Name = "x"
		}, "there is no ApplicationInstance prod/x"},
		"foreign release": {"the HelmRelease belongs to another one", func(_ *pull.Query, _ *appsv1alpha1.ApplicationInstance, r *unstructured.Unstructured) {
			r.SetOwnerReferences([]metav1.OwnerReference{by(appsv1alpha1.GroupVersion.String(), "ApplicationInstance", "shop", "old-uid")})
		}, "does not belong to"},
		"no release": {"nothing is installed", func(_ *pull.Query, app *appsv1alpha1.ApplicationInstance, _ *unstructured.Unstructured) {
			app.Status.HelmReleaseRef = nil
		}, "has no HelmRelease yet"},
		"no inventory": {"an older Flux", func(_ *pull.Query, _ *appsv1alpha1.ApplicationInstance, r *unstructured.Unstructured) {
			delete(r.Object, "status")
		}, "Flux is older than 2.8"},
	} {
		c, q := newCluster(t), asked
		c.pod("lone", nil, "alone")
		test.change(&q, c.objects[0].(*appsv1alpha1.ApplicationInstance), c.objects[1].(*unstructured.Unstructured))
		answer := c.reader().Answer(t.Context(), q)
		r := answer.Refusal
		if r == nil || r.Reason != pull.RefusedNotFound || !strings.Contains(r.Message, test.want) || len(c.opened) > 0 {
			t.Errorf("%s: %s: %v, opened %v", name, test.reason, shown(answer), c.opened)
		}
	}
}

// TestWithoutTheRole: an operator that may not read logs says so. A kind of others that it may not read is a note.
func TestWithoutTheRole(t *testing.T) {
	for _, kind := range []string{"ReplicaSet", "pods/log"} {
		c := newCluster(t)
		owner := by("apps/v1", "ReplicaSet", "web-7d", "r1")
		c.pod("web-7d-a", &owner, "app")
		c.forbidden = []string{kind}
		answer := c.reader().Answer(t.Context(), asked)
		if r := answer.Refusal; r == nil || r.Reason != pull.RefusedNotEnabled || !strings.Contains(r.Message, "may not read logs") {
			t.Errorf("%s: %v", kind, shown(answer))
		}
	}
	c := newCluster(t)
	owner := by("db.example.org/v1", "Postgres", "main", "p1")
	c.pod("main-0", &owner, "postgres")
	c.forbidden = []string{"Postgres"}
	c.want(asked, "NotFound: namespace prod has no pod that belongs to what the chart made; "+
		"pods that a Postgres owns are left out: the operator may not read that kind")
	c.pod("lone", nil, "alone")
	c.want(asked, "lone/alone: lone prints in alone", "note: pods that a Postgres owns are left out: the operator may not read that kind")
}

// TestWhichContainers: init containers are read until the pod runs, or by their name. A container that waits says for
// what. Previous containers are those that ended.
func TestWhichContainers(t *testing.T) {
	c := newCluster(t)
	pod := c.pod("lone", nil, "app", "crashed")
	statuses := pod.Status.ContainerStatuses
	statuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: "migrate", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
		{Name: "later", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}},
	}
	c.printed["lone/migrate"] = stamped(1, "migrates")
	statuses[1].State = statuses[0].State
	c.want(asked, "lone/migrate: migrates", "lone/app! it has not been started: ImagePullBackOff: no such image",
		"lone/crashed! it has not been started: ImagePullBackOff: no such image")
	statuses[1].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
	c.want(asked, "lone/app! it has not been started: ImagePullBackOff: no such image", "lone/crashed: lone prints in crashed")
	q := asked
	q.Container = "migrate"
	c.want(q, "lone/migrate: migrates")
	q = asked
	q.Previous, q.Tail, q.Since = true, 3, noon.Add(time.Second)
	c.want(q, "lone/crashed: lone prints in crashed")
	if o := c.options; !o.Previous || *o.TailLines != 3 || !o.SinceTime.Time.Equal(q.Since) || !o.Timestamps {
		t.Errorf("%+v", o)
	}
	statuses[1].LastTerminationState.Terminated = nil
	c.want(q, "NotFound: no container ran before those of now")
	c.failing["lone/migrate"] = apierrors.NewInternalError(errors.New("the kubelet is away"))
	c.want(asked, "lone/migrate! Internal error occurred: the kubelet is away", "lone/app! it has not been started: ImagePullBackOff: no such image",
		"lone/crashed! it has not been started: ImagePullBackOff: no such image")
}

// TestBounds: an answer fits, whatever is printed. It has the newest lines of all pods, and says how many it left out.
func TestBounds(t *testing.T) {
	c := newCluster(t)
	var pods []string
	for i := range 3 {
		name := fmt.Sprint("web-", i)
		owner := by("apps/v1", "ReplicaSet", "web-7d", "r1")
		c.pod(name, &owner, "app")
		pods = append(pods, name)
	}
	var text strings.Builder
	for i := range pull.MaxTail {
		text.WriteString(stamped(i, "\x00\xff"+strings.Repeat("x", 100)))
	}
	for _, pod := range pods {
		c.printed[pod+"/app"] = text.String()
	}
	c.printed["web-0/app"] = strings.Repeat(stamped(pull.MaxTail, strings.Repeat("y", 2*maxLine)), 3)
	q := asked
	q.Tail = pull.MaxTail
	answer := c.reader().Answer(t.Context(), q)
	encoded, err := json.Marshal(answer)
	if err != nil || len(encoded) > pull.MaxAnswer || len(encoded) < pull.MaxAnswer*9/10 {
		t.Fatalf("%d bytes, %v; the most is %d", len(encoded), err, pull.MaxAnswer)
	}
	oldest, lines := noon.Add(24*time.Hour), 0
	for i, output := range answer.Outputs {
		if len(output.Lines) == 0 {
			t.Fatalf("%s has no lines", output.Pod)
		}
		lines += len(output.Lines)
		last := output.Lines[len(output.Lines)-1]
		if want := noon.Add((pull.MaxTail - 1) * time.Second); i > 0 && !last.At.Equal(want) {
			t.Errorf("the newest line of %s is of %s", output.Pod, last.At)
		}
		if i > 0 && output.Lines[0].At.Before(oldest) {
			oldest = output.Lines[0].At
		}
	}
	if cut := answer.Outputs[0].Lines[0].Text; len(cut) > maxLine+len("…") || !strings.HasSuffix(cut, "…") {
		t.Errorf("a line of %d bytes", len(cut))
	}
	left := 2*pull.MaxTail + 3 - lines
	notes := strings.Join(answer.Notes, "\n")
	if !strings.Contains(notes, fmt.Sprint(left, " older lines were left out")) || !strings.Contains(notes, "web-1/app: only its last 5000 lines") {
		t.Errorf("%d lines were left out; notes: %s", left, notes)
	}
	for _, output := range answer.Outputs[1:] { // none is left out that is newer than one that is there
		if first := output.Lines[0].At; first.Sub(oldest) > time.Second {
			t.Errorf("%s begins at %s, another one at %s", output.Pod, first, oldest)
		}
	}
}

// TestManyContainers: of a large application the first containers are read, and the rest is named in a note.
func TestManyContainers(t *testing.T) {
	c := newCluster(t)
	owner := by("apps/v1", "ReplicaSet", "web-7d", "r1")
	for i := range pull.MaxOutputs + 5 {
		c.pod(fmt.Sprintf("web-%03d", i), &owner, "app")
	}
	answer := c.reader().Answer(t.Context(), asked)
	if len(answer.Outputs) != pull.MaxOutputs || len(c.opened) != pull.MaxOutputs || len(answer.Notes) != 1 ||
		!strings.Contains(answer.Notes[0], "only 60 of 65 containers") {
		t.Errorf("%d outputs, %d opened, notes %v", len(answer.Outputs), len(c.opened), answer.Notes)
	}
}
