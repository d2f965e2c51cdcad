//go:build kube

package link_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/operator/kubetest"
)

// TestLogsOfAnApplication: Tend asks, and the operator reads what the pods of the chart print, through the API server
// and their kubelet. It reads nothing else of the namespace. Without the optional role it says so. A query that a proxy
// has changed, or sends once more, reads nothing.
func TestLogsOfAnApplication(t *testing.T) {
	w := emptyWorld(t)
	w.confine()
	w.operate()
	w.connect()
	object := web(w.name, w.namespace, 1)
	w.tend.put(object)
	w.installs()
	w.inventories("web", w.namespace+"_web_apps_Deployment")
	kubelet := w.startKubelet()
	w.runsPods()
	w.tend.says("ready", object, isReady(1, "HelmReleaseReady"))

	r := w.askLogs(object, pull.Query{Tail: 10}).Refusal
	if r == nil || r.Reason != pull.RefusedNotEnabled || len(kubelet.list()) > 0 {
		t.Fatalf("without the role: %+v, the kubelet was asked for %v", r, kubelet.list())
	}
	operator := w.allow("logs")
	kubetest.Eventually(t, "the role for logs", func(ctx context.Context) error {
		return operator.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "stranger"}, &corev1.Pod{})
	})
	answer := w.askLogs(object, pull.Query{Tail: 10})
	if got, want := shownOf(answer), []string{"web-1-a/app: hello from web-1-a", "web-1-a/sidecar: hello from web-1-a"}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v (%+v)", got, want, answer.Refusal)
	}
	one := w.askLogs(object, pull.Query{Tail: 3, Pod: "web-1-a", Container: "app", Previous: true})
	if one.Refusal == nil || one.Refusal.Message != "no container ran before those of now" {
		t.Errorf("%+v", one)
	}
	for _, name := range []string{"stranger", "forged"} {
		if r := w.askLogs(object, pull.Query{Tail: 3, Pod: name}).Refusal; r == nil || r.Reason != pull.RefusedNotFound {
			t.Errorf("%s: %+v", name, r)
		}
	}
	path := "/containerLogs/" + w.namespace + "/web-1-a/"
	want := []string{path + "app?tailLines=10&timestamps=true", path + "sidecar?tailLines=10&timestamps=true"}
	if diff := cmp.Diff(want, kubelet.list()); diff != "" {
		t.Error(diff)
	}

	var mu sync.Mutex
	var old []pull.Query
	change := func(jobs *pull.Jobs) {
		for i := range jobs.Queries {
			jobs.Queries[i].Pod = "stranger"
		}
	}
	w.tend.lies.Store(&change)
	if r := w.askLogs(object, pull.Query{Tail: 3, Pod: "web-1-a"}).Refusal; r == nil || !strings.Contains(r.Message, "not signed with a key") {
		t.Errorf("a query that was changed: %+v", r)
	}
	repeat := func(jobs *pull.Jobs) {
		mu.Lock()
		defer mu.Unlock()
		sent := slices.Clone(jobs.Queries)
		jobs.Queries, old = append(jobs.Queries, old...), append(old, sent...)
	}
	w.tend.lies.Store(&repeat)
	before := len(kubelet.list())
	for range 3 {
		if answer := w.askLogs(object, pull.Query{Tail: 3, Container: "app"}); answer.Refusal != nil {
			t.Errorf("%+v", answer.Refusal)
		}
	}
	if asked := len(kubelet.list()) - before; asked != 3 {
		t.Errorf("the kubelet was asked %d times for 3 queries", asked)
	}
}

// askLogs asks Tend for the logs of an object.
func (w *world) askLogs(object api.Object, q pull.Query) pull.Answer {
	w.Helper()
	answer, err := w.tend.Handler.Ask(w.Context(), "", object.Ref(), q)
	if err != nil {
		w.Fatal(err)
	}
	return answer
}

func shownOf(answer pull.Answer) (lines []string) {
	for _, output := range answer.Outputs {
		for _, line := range output.Lines {
			lines = append(lines, output.Pod+"/"+output.Container+": "+line.Text)
		}
		if output.Error != "" {
			lines = append(lines, output.Pod+"/"+output.Container+"! "+output.Error)
		}
	}
	return lines
}

// inventories has Flux list the objects of a release.
func (w *world) inventories(release string, ids ...string) {
	w.Helper()
	w.play(helmRelease, release, "InstallSucceeded", func(live *unstructured.Unstructured, status map[string]any) {
		for _, name := range []string{"lastAttemptedRevision", "lastAttemptedRevisionDigest"} {
			status[name], _, _ = unstructured.NestedString(live.Object, "status", name)
		}
		var entries []any
		for _, id := range ids {
			entries = append(entries, map[string]any{"id": id, "v": "v1"})
		}
		status["inventory"] = map[string]any{"entries": entries}
	})
}

// kubelet answers the API server as a node's does, and remembers what it was asked for.
type kubelet struct {
	mu    sync.Mutex
	asked []string
}

func (k *kubelet) list() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.asked)
}

// startKubelet makes a node whose kubelet is this process.
func (w *world) startKubelet() *kubelet {
	w.Helper()
	k := &kubelet{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		k.asked = append(k.asked, r.URL.Path+"?"+r.URL.Query().Encode())
		k.mu.Unlock()
		fmt.Fprintf(answer, "2026-11-28T12:00:00.5Z hello from %s\n", strings.Split(r.URL.Path, "/")[3])
	}))
	w.Cleanup(server.Close)
	host, text, _ := net.SplitHostPort(server.Listener.Addr().String())
	port, err := strconv.Atoi(text)
	if err != nil {
		w.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	if err := w.user.Create(w.Context(), node); err != nil {
		w.Fatal(err)
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	if err := w.user.Status().Update(w.Context(), node); err != nil {
		w.Fatal(err)
	}
	return k
}

// runsPods makes the Deployment of the chart with a pod of two containers, and two pods that are not the chart's. One
// of these names a ReplicaSet that doesn't exist as its owner.
func (w *world) runsPods() {
	w.Helper()
	create := func(object client.Object) {
		w.Helper()
		if err := w.user.Create(w.Context(), object); err != nil {
			w.Fatal(err)
		}
	}
	labels := map[string]string{"app": "web"}
	spec := corev1.PodSpec{
		NodeName:   w.namespace,
		Containers: []corev1.Container{{Name: "app", Image: "a"}, {Name: "sidecar", Image: "b"}},
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels}
	}
	deployment := &appsv1.Deployment{ObjectMeta: named("web"),
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template}}
	create(deployment)
	set := &appsv1.ReplicaSet{ObjectMeta: named("web-1"),
		Spec: appsv1.ReplicaSetSpec{Selector: deployment.Spec.Selector, Template: template}}
	set.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment")),
	}
	create(set)
	of := metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	forged := *of
	forged.UID = "00000000-0000-0000-0000-000000000000"
	for name, owners := range map[string][]metav1.OwnerReference{"web-1-a": {*of}, "stranger": nil, "forged": {forged}} {
		pod := &corev1.Pod{ObjectMeta: named(name), Spec: spec}
		pod.OwnerReferences = owners
		create(pod)
		for _, container := range spec.Containers {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: container.Name, Image: container.Image,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			})
		}
		pod.Status.Phase = corev1.PodRunning
		if err := w.user.Status().Update(w.Context(), pod); err != nil {
			w.Fatal(err)
		}
	}
}
