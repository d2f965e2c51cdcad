package suggest

// Foreign are words of docker, Compose, kubectl, Helm, kamal and Nomad that Tend doesn't have, with what it has
// instead.
type Foreign struct {
	// Verbs are commands there, and Nouns kinds, which stand for commands in some. Kinds are such that no command line of
	// Tend takes for a mistake: they stand in manifests, in lower case and without - and _.
	Verbs, Nouns, Kinds []string
	// Command is the answer on a command line, to verbs and nouns; Manifest that in a manifest, to nouns and kinds. It is
	// empty where the words aren't answered.
	Command, Manifest string
}

// ForeignWords is the one table of them.
var ForeignWords = []Foreign{
	{Verbs: []string{"down", "destroy", "undeploy", "uninstall", "remove", "del"},
		Command: "`tend delete -f FILE` deletes what a manifest declares, `tend delete --scope SCOPE` all of a " +
			"scope; volumes stay"},
	{Verbs: []string{"ls", "list", "status", "details"},
		Command: "`tend get` lists objects, `tend get pods` their pods, `tend nodes` the machines"},
	{Verbs: []string{"inspect", "show"},
		Command: "`tend describe SCOPE/NAME` says how an object is, `tend get SCOPE/NAME -o yaml` prints all of " +
			"it"},
	{Nouns: []string{"service", "services", "svc", "endpoints", "ep"},
		Command: "pods are reached by the name of their deployment, from outside by an ingress: `tend get " +
			"ingresses`",
		Manifest: serviceHere},
	{Nouns: []string{"stack", "stacks", "namespace", "namespaces", "ns", "project", "projects"},
		Command: "a scope is the folder of names, and each apply makes those it needs: `tend get -s SCOPE` lists " +
			"what is in one",
		Manifest: scopeHere},
	{Verbs: []string{"compose"},
		Command: "`tend import compose` makes manifests of a Compose file, `tend adopt compose` takes over what " +
			"runs"},
	{Verbs: []string{"kubectl", "docker", "helm", "kamal"},
		Command: "`tend --help` lists the commands here"},
	{Verbs: []string{"create", "install", "upgrade", "setup"},
		Command: "`tend init` writes a first manifest, `tend apply -f FILE` creates and changes what one declares"},
	{Verbs: []string{"edit", "patch", "replace", "update", "set", "label", "annotate"},
		Command: "change the manifest, then `tend apply -f FILE`; `tend diff -f FILE` shows first what changes"},
	{Verbs: []string{"rollout"},
		Command: "`tend describe SCOPE/NAME` shows one, `tend restart SCOPE/NAME` begins one, `tend releases " +
			"SCOPE/NAME` lists them and `tend rollback SCOPE/NAME` undoes one"},
	{Verbs: []string{"redeploy", "recreate"},
		Command: "`tend restart SCOPE/NAME` replaces the pods, `tend apply --force` looks for the image again"},
	{Verbs: []string{"wait"},
		Command: "`tend apply -f FILE` waits by itself until what it stored runs"},
	{Verbs: []string{"kill"},
		Command: "`tend stop POD` stops a pod until `tend start`, `tend restart SCOPE/NAME` replaces all"},
	{Verbs: []string{"pause", "unpause"},
		Command: "`tend stop SCOPE/NAME` stops pods, `tend ingress pause SCOPE/NAME` holds requests"},
	{Verbs: []string{"cp", "copy"},
		Command: "`tend exec POD -- cat PATH > FILE` copies a file out, and `tend exec POD -- tee PATH < FILE` " +
			"one in"},
	{Verbs: []string{"attach", "log"},
		Command: "`tend logs SCOPE/NAME -f` follows the output"},
	{Verbs: []string{"sh", "bash", "shell", "ssh", "console", "debug"},
		Command: "`tend exec SCOPE/NAME -- sh` runs a shell in a pod"},
	{Verbs: []string{"port-forward", "port", "expose", "proxy"},
		Command: "`ports` in the manifest publishes ports of a pod on its node, and an ingress serves it at a " +
			"host: `tend get ingresses`"},
	{Verbs: []string{"build", "push", "buildx"},
		Command: "an apply builds what has a `build` block, and a node that needs the image gets it: `tend apply " +
			"-f FILE`"},
	{Verbs: []string{"pull"},
		Command: "a node pulls what it runs by itself; `tend apply --force` looks for the images again"},
	{Verbs: []string{"df"},
		Nouns:   []string{"images", "image"},
		Command: disks},
	{Nouns: []string{"volume", "volumes", "pv", "pvc"},
		Kinds:    []string{"persistentvolume", "persistentvolumeclaim", "storageclass"},
		Command:  disks,
		Manifest: volumeHere},
	{Nouns: []string{"network", "networks"},
		Kinds: []string{"networkpolicy"},
		Command: "pods of one machine reach each other by name; one network in a manifest joins those of " +
			"several: `tend get network`",
		Manifest: networkHere},
	{Verbs: []string{"login", "logout"},
		Command: "a registry in a manifest says how to log in: `tend get registries`"},
	{Nouns: []string{"secret", "secrets"},
		Command:  keys,
		Manifest: secretHere},
	{Nouns: []string{"env", "cm", "configmap", "configmaps"},
		Kinds:    []string{"config"},
		Command:  keys,
		Manifest: configHere},
	{Verbs: []string{"context", "contexts", "use", "connect"},
		Command: "--server URL or TEND_SERVER names the server, and `tend version` says which one answers"},
	{Verbs: []string{"info", "cluster-info", "top-nodes"},
		Command: "`tend nodes` lists the machines, `tend version` says which server answers"},
	{Verbs: []string{"swarm", "join", "bootstrap"},
		Command: "`tend nodes add` says how another machine joins, `tend servers` lists those with the store"},
	{Verbs: []string{"explain", "api-resources"},
		Nouns:   []string{"crd", "crds"},
		Command: "`tend schema` prints all kinds and fields of manifests"},
	{Verbs: []string{"autoscale"},
		Nouns:    []string{"hpa"},
		Kinds:    []string{"horizontalpodautoscaler", "autoscaler"},
		Command:  "`autoscale` in a manifest does it: `tend get deployments -o wide` shows what it decided",
		Manifest: autoscaleHere},
	{Nouns: []string{"rs", "replicaset", "replicasets"},
		Kinds:    []string{"replicationcontroller"},
		Command:  "`tend releases SCOPE/NAME` lists what was rolled out",
		Manifest: replicasHere},
	{Nouns: []string{"ds", "daemonset", "daemonsets"},
		Command:  "a deployment with `mode = \"global\"` has a pod on each node: `tend get deployments`",
		Manifest: daemonsHere},
	{Nouns: []string{"container", "containers"},
		Kinds:    []string{"pod", "pods", "task", "group"},
		Command:  "each pod is one container: `tend get pods`",
		Manifest: podHere},
	{Verbs: []string{"accessory"},
		Command: "a statefulset keeps data beside an app: `tend get statefulsets`"},
	{Nouns: []string{"sa", "serviceaccount", "serviceaccounts", "user", "users"},
		Kinds:    []string{"role", "rolebinding", "clusterrole", "clusterrolebinding"},
		Command:  "`tend tokens` lists the people and programs that may call",
		Manifest: rightsHere},
	{Verbs: []string{"lock"},
		Command: "two applies at once end as if one came after the other: `tend audit` lists who called"},
	{Verbs: []string{"app"},
		Command: "`tend logs SCOPE/NAME`, `tend exec SCOPE/NAME -- sh` and others take the app's name: `tend get " +
			"apps` lists them"},
	{Verbs: []string{"taint"},
		Command: "`tend cordon NODE` keeps new pods away from a node"},
	{Kinds: []string{"cron", "scheduledjob", "periodic", "cronjob", "schedule"},
		Manifest: cronHere},
	{Kinds: []string{"gateway", "httproute", "route", "ingressroute"},
		Manifest: ingressHere},
	{Kinds: []string{"batch"},
		Manifest: batchHere},
}

// What a manifest has instead.
const (
	serviceHere   = "pods are reached by their deployment's name, and from outside by an ingress"
	replicasHere  = "`replicas` of a deployment is the number of its pods"
	podHere       = "a deployment runs a container as pods; what ends by itself is a job"
	secretHere    = "`tend config set SCOPE/NAME KEY=VALUE` keeps a secret, encrypted; `secret_files` makes files of keys"
	configHere    = "`tend config set SCOPE/NAME KEY=VALUE` sets a variable; files are an asset's"
	cronHere      = "what runs by a schedule is a cronjob"
	scopeHere     = "the first label of an object is its scope; an apply makes the scopes that it needs"
	volumeHere    = "`volumes` of a deployment mounts them; a statefulset has `volume_claim`"
	autoscaleHere = "`autoscale` in a deployment does it"
	ingressHere   = "an ingress serves a deployment at a host"
	rightsHere    = "`tend tokens` lists who may call, and with which rights"
	daemonsHere   = `a deployment with mode = "global" has a pod on each node`
	networkHere   = "pods that share no network don't reach each other: `networks` names those of a deployment"
	batchHere     = "a job runs once: job \"SCOPE\" \"NAME\" { … }"
)

// Answers of several rows.
const (
	disks = "`tend system df` shows images and volumes on the disk of each node"
	keys  = "`tend config set SCOPE/NAME KEY=VALUE` sets a key of the environment, encrypted, and `tend " +
		"config list SCOPE/NAME` lists them"
)
