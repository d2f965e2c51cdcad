package verbs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

func (w *world) nodeSpec(node string) api.NodeSpec { return w.snapshot().NodeSpec(node) }

func nodeObject(name, spec string) api.Object {
	return api.Object{Kind: api.KindNode, Scope: api.Unscoped, Name: name, Spec: json.RawMessage(spec)}
}

// The manifest of a node and its availability have different owners: applying the one again leaves the other as it is.
func TestAvailabilityOutlivesAnApply(t *testing.T) {
	w := newWorld(t)
	w.put(records.NodeKey("n1"), api.NodeStatus{ID: "n1"})
	if _, err := w.service.SetAvailability(t.Context(), "n1", api.NodeDrained, FieldManager{Actor: "ann"}); err != nil {
		t.Fatal(err)
	}
	w.mustApply(nodeObject("n1", `{"labels":{"zone":"eu"}}`))
	if got := w.nodeSpec("n1"); got.Availability != api.NodeDrained || got.Labels["zone"] != "eu" {
		t.Errorf("%+v after the apply", got)
	}
	if _, err := w.service.SetAvailability(t.Context(), "n1", api.NodeActive, FieldManager{}); err != nil {
		t.Fatal(err)
	}
	if got := w.nodeSpec("n1"); got.Availability != api.NodeActive || got.Labels["zone"] != "eu" {
		t.Errorf("%+v once it is active again", got)
	}
}

func TestAvailabilityThatAManifestDeclares(t *testing.T) {
	w := newWorld(t)
	w.mustApply(nodeObject("n1", `{"availability":"active"}`))
	_, err := w.service.SetAvailability(t.Context(), "n1", api.NodeDrained, FieldManager{})
	wantReason(t, err, FieldOwned)
	if _, err := w.service.SetAvailability(t.Context(), "n1", api.NodeDrained,
		FieldManager{ForceConflicts: true}); err != nil || w.nodeSpec("n1").Availability != api.NodeDrained {
		t.Errorf("%v, %+v", err, w.nodeSpec("n1"))
	}
	_, err = w.service.SetAvailability(t.Context(), "n2", api.NodeDrained, FieldManager{})
	wantReason(t, err, NotFound)
	w = newWorld(t, func(o *Options) { o.Validate = api.ValidateObject })
	w.put(records.NodeKey("n1"), api.NodeStatus{ID: "n1"})
	_, err = w.service.SetAvailability(t.Context(), "n1", "asleep", FieldManager{})
	wantReason(t, err, Invalid)
}

// offline is a world with a silent node n1 that has a running task and an ended one, and a task on n2.
func offline(t *testing.T) *world {
	w := newWorld(t)
	w.mustApply(deployment("prod", "web", `{}`))
	for id, node := range map[string]string{"runs": "n1", "ended": "n1", "other": "n2"} {
		w.put(records.TaskKey(id), api.Task{ID: id, Kind: api.KindDeployment, Scope: "prod", Name: "web", Slot: id,
			Node: node, Desired: api.DesiredRunning})
		w.put(records.TaskStatusKey(id), api.TaskStatus{ID: id, Node: node, State: api.TaskRunning, Ready: true})
	}
	w.put(records.TaskStatusKey("ended"), api.TaskStatus{ID: "ended", Node: "n1", State: api.TaskComplete})
	for _, node := range []string{"n1", "n2"} {
		w.put(records.NodeKey(node), api.NodeStatus{ID: node})
		w.put(records.HomeKey("data-of-"+node), node)
	}
	w.put(records.AliveKey("n2"), "now")
	return w
}

func TestANodeThatIsOff(t *testing.T) {
	w := offline(t)
	result, err := w.service.NodeDown(t.Context(), "n1", ConfirmDown, false, "ann")
	if err != nil || !slices.Equal(result.Pods, []string{"prod-web.runs"}) {
		t.Fatalf("%+v, %v", result, err)
	}
	snap := w.snapshot()
	if s := snap.TaskStatus("runs").Value; s.State != api.TaskFailed || s.Ready || s.Reason != api.ReasonNodeDown ||
		!s.FinishedAt.Equal(testTime) {
		t.Errorf("%+v", s)
	}
	if s := snap.TaskStatus("ended").Value; s.State != api.TaskComplete {
		t.Errorf("what had ended: %+v", s)
	}
	if s := snap.TaskStatus("other").Value; s.State != api.TaskRunning {
		t.Errorf("on another node: %+v", s)
	}
	if !snap.Node("n1").Exists() || snap.Homes()["data-of-n1"] != "n1" {
		t.Error("the node, or its data, is forgotten")
	}
}

// What a node keeps is given up only with the node itself.
func TestANodeThatIsRemoved(t *testing.T) {
	w := offline(t)
	w.mustApply(nodeObject("n1", `{"labels":{"zone":"eu"}}`))
	result, err := w.service.NodeDown(t.Context(), "n1", RemoveNode, false, "ann")
	if err != nil || !slices.Equal(result.Volumes, []string{"data-of-n1"}) {
		t.Fatalf("%+v, %v", result, err)
	}
	snap := w.snapshot()
	if member := snap.Member("n1"); snap.Node("n1").Exists() || snap.NodeSpec("n1").Labels != nil || !member.Exists() ||
		!member.Value.Removed {
		t.Errorf("n1 is still there: %+v", member.Value)
	}
	if homes := snap.Homes(); len(homes) != 1 || homes["data-of-n2"] != "n2" {
		t.Errorf("%v", homes)
	}
	_, err = w.service.NodeDown(t.Context(), "n1", RemoveNode, false, "ann")
	wantReason(t, err, NotFound)
}

// TestANodeThatIsForcedOut: one that answers is out at once, and what it could read is named: the environments of its
// pods, the registries of their images, and the keys of the hosts that it served. Of a leftover it is named that its
// object was deleted: what an object made again under that name has, the node never read.
func TestANodeThatIsForcedOut(t *testing.T) {
	w := offline(t)
	web := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}
	w.put(records.TaskKey("more"),
		api.Task{ID: "more", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Slot: "m", Release: "v1", Node: "n2",
			OwnerUID: w.snapshot().Object(web).Value.Metadata.UID, Desired: api.DesiredRunning})
	w.put(records.ReleaseKey(web, "v1"),
		api.Release{ID: "v1", Kind: web.Kind, Scope: web.Scope, Name: web.Name, Image: "ghcr.example/shop/web:1",
			Env:          []byte("sealed"),
			AssetDigests: map[string]string{"prod.conf.a": "sha256:a"}})
	for name, uid := range map[string]string{"db": "of db", "gone": "of gone", "old": "of old"} {
		w.put(records.TaskKey(name),
			api.Task{ID: name, OwnerUID: uid, Kind: web.Kind, Scope: web.Scope, Name: name, Slot: "1", Release: "v1",
				Node: "n2", Desired: api.DesiredRemoved, Leftover: true})
	}
	for name, uid := range map[string]string{"db": "of db made again", "old": "of old"} { // releases of old are dropped
		object := api.Object{Kind: web.Kind, Scope: web.Scope, Name: name, Spec: []byte(`{"image":"other.example/db:1"}`),
			Metadata: api.Metadata{UID: uid}}
		w.put(records.ObjectKey(object.Ref()), object)
	}
	again := api.Ref{Kind: web.Kind, Scope: web.Scope, Name: "db"}
	w.put(records.ReleaseKey(again, "v1"),
		api.Release{ID: "v1", Kind: again.Kind, Scope: again.Scope, Name: again.Name, Image: "other.example/db:1",
			Env: []byte("sealed"), AssetDigests: map[string]string{"prod.conf.b": "sha256:b"}})
	w.put(records.MemberKey("n2"), records.Member{UID: "2", Ingress: true, Token: "t1"})
	w.put(records.JoinTokenKey("t1"),
		records.JoinToken{JoinTokenInfo: api.JoinTokenInfo{ID: "t1", Uses: 5, Used: []string{"n2"},
			ExpiresAt: testTime.Add(time.Hour)}})
	w.put(records.JoinTokenKey("t2"),
		records.JoinToken{JoinTokenInfo: api.JoinTokenInfo{ID: "t2", Uses: 5, ExpiresAt: testTime.Add(time.Hour)}})
	w.put(records.CertFilesPrefix+"acme/ca/users/default/default.key", "x")
	for _, object := range []api.Object{
		{Kind: api.KindRegistry, Scope: api.Unscoped, Name: "ghcr", Spec: []byte(`{"url":"ghcr.example"}`)},
		{Kind: api.KindRegistry, Scope: api.Unscoped, Name: "other", Spec: []byte(`{"url":"other.example"}`)},
		{Kind: api.KindIngress, Scope: "prod", Name: "web", Spec: []byte(`{"host":"Shop.example","tls":{}}`)},
	} {
		w.put(records.ObjectKey(object.Ref()), object)
	}
	result, err := w.service.NodeDown(t.Context(), "n2", ForceNodeOut, false, "ann")
	want := []string{
		"the TLS key of shop.example", "the accounts at certificate authorities (ACME)",
		"the asset files of deployment/prod/web", "the credentials of registry/ghcr",
		"the environment of deployment/prod/web",
		"the environment, the asset files and the registry credentials of deployment/prod/db, which was deleted",
		"the environment, the asset files and the registry credentials of deployment/prod/gone, which was deleted",
		"the environment, the asset files and the registry credentials of release v1 of deployment/prod/old, " +
			"which is no longer stored",
		"the join token t1, which is revoked now: tend nodes add makes another for the machines that have not joined yet",
	}
	if err != nil || !slices.Equal(result.Rotate, want) {
		t.Errorf("%q, %v", result.Rotate, err)
	}
	snap := w.snapshot()
	if member := snap.Member("n2"); snap.Alive("n2") || snap.Node("n2").Exists() || !member.Value.Removed ||
		snap.TaskStatus("more").Value.State != api.TaskFailed {
		t.Errorf("n2 is still there: %+v", member.Value)
	}
	if snap.JoinToken("t1").Exists() || !snap.JoinToken("t2").Exists() {
		t.Error("its token is valid, or another's is not")
	}
	w.put(records.NodeKey("n3"), api.NodeStatus{ID: "n3"})
	w.put(records.MemberKey("n3"), records.Member{Server: "b"})
	_, err = w.service.NodeDown(t.Context(), "n3", ForceNodeOut, false, "ann")
	if refused := wantReason(t, err, InUse); !strings.Contains(refused.Next, "tend servers remove b") {
		t.Errorf("the node of a server: %+v", refused)
	}
	w.put(records.NodeKey("n4"), api.NodeStatus{ID: "n4"})
	w.put(records.AliveKey("n4"), "n4")
	_, err = w.service.NodeDown(t.Context(), "n4", ForceNodeOut, false, "ann")
	if refused := wantReason(t, err, InUse); !strings.Contains(refused.Next, "--no-agent") {
		t.Errorf("the node of a server that is alone: %+v", refused)
	}
}

// TestWhatABuilderCouldRead: a node that was asked for a build could read its source, its secrets and the credentials
// of every registry; one that was asked for an image without a host in its name, those of Docker Hub. Who was asked for
// neither read neither, and who was asked by a deleted object of that name read that one's alone.
func TestWhatABuilderCouldRead(t *testing.T) {
	w := offline(t)
	ref := func(name string) api.Ref { return api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name} }
	for name, url := range map[string]string{"hub": "https://index.docker.io/v1/", "ghcr": "ghcr.example"} {
		object := api.Object{Kind: api.KindRegistry, Scope: api.Unscoped, Name: name,
			Spec: []byte(`{"url":"` + url + `"}`)}
		w.put(records.ObjectKey(object.Ref()), object)
	}
	w.put(records.ImageKey(ref("plain")), api.ImageRequest{Owner: ref("plain"), Image: "nginx:1"})
	built := api.ImageRequest{Owner: ref("built"), Image: "tend/built",
		Build: &api.ImageBuild{Tree: "sha256:t", Build: api.Build{Secrets: []string{"NPM", "PIP"}}}}
	w.put(records.ImageKey(built.Owner), built)
	asked := func(node, name string) {
		w.put(records.ImageStatusKey(node, ref(name)),
			api.ImageStatus{Owner: ref(name), Node: node, Image: "x", State: api.ImagePresent})
	}
	w.put(records.ImageStatusKey("former", built.Owner), api.ImageStatus{Owner: built.Owner, OwnerUID: "of the one before",
		Node: "former", Image: "ghcr.example/shop/former:1", State: api.ImagePresent})
	for _, node := range []string{"hub", "builder", "idle", "former"} {
		w.put(records.NodeKey(node), api.NodeStatus{ID: node})
		w.put(records.MemberKey(node), records.Member{UID: node})
	}
	for _, name := range []string{"plain", "built"} { // of the present requests others have the image
		w.put(records.ImageStatusKey("n2", ref(name)),
			api.ImageStatus{Owner: ref(name), Node: "n2", Image: w.snapshot().ImageRequest(ref(name)).Value.Image,
				State: api.ImagePresent})
	}
	asked("hub", "plain")
	asked("builder", "built")
	for node, want := range map[string][]string{
		"hub": {"the credentials of registry/hub"},
		"builder": {"the build secrets of deployment/prod/built: NPM PIP", "the credentials of registry/ghcr",
			"the credentials of registry/hub", "the source of deployment/prod/built"},
		"idle":   nil,
		"former": {"the credentials of registry/ghcr"},
	} {
		if result, err := w.service.NodeDown(t.Context(), node, ForceNodeOut, false, "ann"); err != nil ||
			!slices.Equal(result.Rotate, want) {
			t.Errorf("%s: %q, %v", node, result.Rotate, err)
		}
	}
}

// A node that answers is refused, also if it begins to answer between the decision and its commit.
func TestANodeThatAnswersIsNotOff(t *testing.T) {
	w := offline(t)
	_, err := w.service.NodeDown(t.Context(), "n2", RemoveNode, false, "ann")
	if refused := wantReason(t, err, InUse); !strings.Contains(refused.Next, "tend drain n2") {
		t.Errorf("next: %s", refused.Next)
	}
	w.before = func() { w.put(records.AliveKey("n1"), "now") }
	_, err = w.service.NodeDown(t.Context(), "n1", ConfirmDown, false, "ann")
	wantReason(t, err, InUse)
	if s := w.snapshot().TaskStatus("runs").Value; s.State != api.TaskRunning {
		t.Errorf("%+v", s)
	}
}

func TestUncordonForgetsLosses(t *testing.T) {
	w := newWorld(t)
	w.put(records.NodeKey("n1"), api.NodeStatus{ID: "n1"})
	w.put(records.LossesKey("n1"), api.NodeLosses{At: []time.Time{testTime}, Until: testTime})
	for _, changed := range []bool{true, false} {
		result, err := w.service.SetAvailability(t.Context(), "n1", api.NodeActive, FieldManager{})
		if err != nil {
			t.Fatal(err)
		}
		if w.snapshot().Losses("n1").Exists() || !changed && result.Changed {
			t.Errorf("%+v; %+v", result, w.snapshot().Losses("n1").Value)
		}
	}
}
