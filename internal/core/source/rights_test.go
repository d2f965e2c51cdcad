package source

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestRefuse: what an untrusted source of the scope prod, a trusted one of it, and a trusted one without scopes may
// declare.
func TestRefuse(t *testing.T) {
	const builds, macro, cluster = "a sync builds nothing", "a sync runs no plugin", "concerns the whole cluster"
	hostname := func(name string) string { return "hostname " + name + " is a name by which containers of every scope" }
	const host, foreign, elsewhere = "reaches the host", "mounts a volume that may be another's", "not trusted with it"
	for name, tc := range map[string]struct {
		object       api.Object
		plain, trust string
	}{
		"plain": {deployment(`"volumes":["prod.data:/data"],"network_mode":"bridge","networks":["tend0"]`),
			"", ""},
		"host folder": {deployment(`"volumes":["/etc:/x:ro"]`), "volumes " + host, ""},
		"job":         {declared(api.KindJob, "prod", `{"image":"a","volumes":["/:/x"]}`), "volumes " + host, ""},
		"lab":         {declared(api.KindLab, "prod", `{"image":"a","volumes":["/:/x"]}`), "volumes " + host, ""},
		"lab, build":  {declared(api.KindLab, "prod", `{"build":{}}`), builds, builds},
		"lab, port":   {declared(api.KindLab, "prod", `{"image":"a","ports":["0.0.0.0:80:80"]}`), "ports publishes", ""},
		"devices": {declared(api.KindStatefulSet, "prod", `{"image":"a","devices":["/dev/kvm"]}`),
			"devices " + host, ""},
		"capability":   {deployment(`"cap_add":["SYS_ADMIN"]`), "cap_add " + host, ""},
		"host network": {deployment(`"network_mode":"host"`), "network_mode " + host, ""},
		"security":     {deployment(`"security_opt":["seccomp=unconfined"]`), "security_opt " + host, ""},
		"docker options": {declared(api.KindCronJob, "prod", `{"image":"a","docker_options":["--privileged"]}`),
			"docker_options " + host, ""},
		"init": {deployment(`"inits":[{"name":"i","docker_options":["--privileged"]}]`),
			"init.docker_options " + host, ""},
		"image folder": {declared(api.KindDeployment, "prod", `{"image":"/srv/app"}`), "image " + host, ""},
		"init image":   {deployment(`"inits":[{"name":"i","image":"/srv/app"}]`), "init.image " + host, ""},
		"build":        {declared(api.KindDeployment, "prod", `{"build":{}}`), builds, builds},
		"no image":     {declared(api.KindDeployment, "prod", `{}`), builds, builds},
		"macro":        {declared("postgres", "prod", `{}`), macro, macro},
		"node":         {declared(api.KindNode, api.Unscoped, `{}`), cluster, ""},
		"sync":         {declared(api.KindSync, api.Unscoped, `{"dir":"/etc"}`), cluster, ""},
		"operation":    {declared(api.KindOperation, "prod", `{}`), "changes a Kubernetes cluster", ""},
		"ingress":      {declared(api.KindIngress, "prod", `{"host":"a.example"}`), "", ""},
		"a wildcard":   {declared(api.KindIngress, "prod", `{"host":"*.shop.co.uk"}`), "", ""},
		"a port": {declared(api.KindIngress, "prod", `{"listen":"5432"}`),
			"listen 5432 takes a port that others reach of every node", ""},
		"a port of Tend": {declared(api.KindIngress, "prod", `{"listen":"127.0.0.1:8686"}`),
			"listen: Tend itself listens at port 8686", ""},
		"publishes a port of Tend": {deployment(`"ports":["80","127.0.0.1:8685-8690:80"]`),
			"ports[1]: Tend itself listens at port 8685", ""},
		"a port inside": {declared(api.KindIngress, "prod", `{"listen":"127.0.0.1:5432"}`), "", ""},
		"all of com": {declared(api.KindIngress, "prod", `{"host":"*.COM"}`),
			"host *.com claims the names of a whole public domain", ""},
		"all of co.uk": {declared(api.KindIngress, "prod", `{"host":"*.co.uk"}`), "host *.co.uk claims", ""},
		"all of github.io": {declared(api.KindLab, "prod", `{"image":"a","host":"*.github.io"}`),
			"host *.github.io claims", ""},
		"all of a LAN": {declared(api.KindIngress, "prod", `{"host":"*.lan"}`), "host *.lan claims", ""},
		"other scope": {declared(api.KindIngress, "bank", `{"host":"a.example"}`), "outside of the source's scopes",
			"outside of the source's scopes"},
		"asset for all": {declared(api.KindAsset, api.Unscoped, `{"files":{"a":"x"}}`), "outside of the source's scopes",
			"outside of the source's scopes"},
		"a file's text":    {declared(api.KindAsset, "prod", `{"files":{"a":"${config.bank.vault.KEY}"}}`), "", ""},
		"any volume":       {deployment(`"volumes":["data:/data"]`), foreign, ""},
		"claim of another": {deployment(`"volumes":["tend-bank-db-data-0:/data"]`), foreign, ""},
		"longer scope":     {deployment(`"volumes":["prod-b.data:/data"]`), foreign, ""},
		"own asset":        {deployment(`"volumes":["${asset.conf.main}:/etc/x:ro"]`), "", ""},
		"asset of all":     {deployment(`"volumes":["${asset._.ca.pem}:/etc/x"]`), "", ""},
		"foreign asset":    {deployment(`"volumes":["${asset.bank.conf.main}:/etc/x"]`), elsewhere, ""},
		"folder of asset":  {deployment(`"volumes":["${asset.conf.main}/../..:/x"]`), "volumes " + host, ""},
		"escaped":          {deployment(`"command":["$${asset.bank.conf.main}"]`), "", ""},
		"foreign env":      {deployment(`"env_from":["web","bank/vault"]`), "env_from[1] names the scope bank", ""},
		"own env":          {deployment(`"env_from":["web","prod/api"]`), "", ""},
		"foreign value":    {deployment(`"env":{"A":"${config.bank.vault.KEY}"}`), "env.A names the scope bank", ""},
		"foreign fact":     {deployment(`"env":{"A":"${ref.deployment.bank.vault.host}"}`), "env.A names the scope bank", ""},
		"own value":        {deployment(`"env":{"A":"${config.KEY}${config.web.KEY}${config.prod.web.KEY}"}`), "", ""},
		"in a webhook": {deployment(`"on_deploy":{"success":[{"url":"https://a/${config.bank.vault.KEY}"}]}`),
			"on_deploy.success[0].url names the scope bank", ""},
		"waits for": {deployment(`"depends_on":{"workloads":["deployment/bank/vault"]}`),
			"depends_on.workloads[0] names the scope bank", ""},
		"rolls with": {deployment(`"depends_on":{"assets":["bank.conf.main"]}`),
			"depends_on.assets[0] names the scope bank", ""},
		"foreign hostname": {deployment(`"hostname":"vault.bank"`), hostname("vault.bank"), ""},
		"zoned hostname":   {deployment(`"hostname":"Vault.Bank.tend"`), hostname("Vault.Bank.tend"), ""},
		"public hostname":  {deployment(`"hostname":"api.github.com"`), hostname("api.github.com"), ""},
		"short hostname":   {deployment(`"hostname":"db"`), hostname("db"), ""},
		"hostname of a scope like a domain": {declared(api.KindDeployment, "com", `{"image":"a","hostname":"foo.com"}`),
			"outside of the source's scopes", "outside of the source's scopes"},
		"hostname of a job":  {declared(api.KindJob, "prod", `{"image":"a","hostname":"db"}`), hostname("db"), ""},
		"hostname of a cron": {declared(api.KindCronJob, "prod", `{"image":"a","hostname":"db"}`), hostname("db"), ""},
		"hostname of a lab":  {declared(api.KindLab, "prod", `{"image":"a","hostname":"db"}`), hostname("db"), ""},
		"hostname of a set": {declared(api.KindStatefulSet, "prod", `{"image":"a","hostname":"db"}`),
			hostname("db"), ""},
		"own hostname":       {deployment(`"hostname":"mail.prod"`), "", ""},
		"own zoned hostname": {deployment(`"hostname":"Mail.prod.tend"`), "", ""},
		"hostname below it":  {deployment(`"hostname":"api.mail.prod"`), hostname("api.mail.prod"), ""},
		"hostname unreached": {deployment(`"hostname":"mail.example.org","network_mode":"none"`), "", ""},
		"any network":        {deployment(`"networks":["tend0","bank_default"]`), "networks joins", ""},
		"older network":      {deployment(`"network":"bank_default"`), "networks joins", ""},
		"local port":         {deployment(`"ports":["80","8080:80","127.0.0.1:8081:80","[::1]:8082:80"]`), "", ""},
		"open port":          {deployment(`"ports":["0.0.0.0:80:80"]`), "ports publishes", ""},
		"open IPv6 port":     {deployment(`"ports":["[::]:80:80"]`), "ports publishes", ""},
		"port in a LAN":      {deployment(`"ports":["192.168.1.2:80:80"]`), "ports publishes", ""},
	} {
		for _, rights := range []struct {
			Rights
			want string
		}{
			{Rights{Scopes: []string{"prod"}}, tc.plain}, {Rights{Trusted: true, Scopes: []string{"prod"}}, tc.trust},
		} {
			wantRefused(t, name, rights.Rights, tc.object, rights.want)
		}
	}
	person := Rights{Person: "carol is deployer of prod", Scopes: []string{"prod"}, HostPaths: []string{"/srv/data"}}
	for name, tc := range map[string]struct {
		object api.Object
		want   string
	}{
		"plain":  {deployment(`"volumes":["prod.data:/data"]`), ""},
		"builds": {declared(api.KindDeployment, "prod", `{"build":{}}`), ""},
		"builds as root": {declared(api.KindDeployment, "prod", `{"build":{},"cap_add":["SYS_ADMIN"]}`),
			"cap_add reaches the host, and carol is deployer of prod"},
		"an allowed folder":     {deployment(`"volumes":["/srv/data:/x:ro"]`), ""},
		"below it":              {deployment(`"volumes":["/srv/data/sub:/x"]`), "volumes reaches the host"},
		"above it":              {deployment(`"volumes":["/srv:/x"]`), "volumes reaches the host"},
		"by a value":            {deployment(`"volumes":["${config.DIR}:/x"]`), "volumes reaches the host"},
		"another scope":         {declared(api.KindJob, "bank", `{"image":"a"}`), "is in another scope"},
		"another scope's value": {deployment(`"env":{"A":"${config.bank.vault.KEY}"}`), "names the scope bank"},
		"all of com": {declared(api.KindIngress, "prod", `{"host":"*.com"}`),
			"host *.com claims the names of a whole public domain, and carol is deployer of prod"},
		"the cluster": {declared(api.KindNode, api.Unscoped, `{}`), "concerns the whole cluster"},
		"a macro":     {declared("postgres", "prod", `{}`), "runs a plugin"},
	} {
		wantRefused(t, "a person, "+name, person, tc.object, tc.want)
	}
	everywhere := Rights{Person: "dora is deployer"}
	for _, tc := range []struct{ scope, hostname, next string }{
		{"com", "foo.com", `write hostname = "x.com.tend", or leave it out; or have an admin apply it`},
		{"v1-command", "shop-rc.v1-command", `write hostname = "x.v1-command.tend", or leave it out; or have an admin`},
		{"bank", "x.prod", `write hostname = "x.bank", or leave it out; or have an admin apply it`},
	} {
		object := declared(api.KindDeployment, tc.scope, `{"image":"a","hostname":"`+tc.hostname+`"}`)
		wantRefused(t, "a person of all scopes", everywhere, object, hostname(tc.hostname))
		if fault := everywhere.Refuse(object); fault == nil || !strings.HasPrefix(fault.Next, tc.next) {
			t.Errorf("%s: %+v", tc.hostname, fault)
		}
	}
	wantRefused(t, "a person of all scopes", everywhere,
		declared(api.KindJob, "bank", `{"image":"a","env_from":["prod/web"]}`), "")
	wantRefused(t, "a person of all scopes, the cluster", everywhere, declared(api.KindSync, api.Unscoped, `{}`),
		"concerns the whole cluster")
	wantRefused(t, "a person of all scopes, files for all", everywhere,
		declared(api.KindAsset, api.Unscoped, `{"files":{"a":"x"}}`), "is for all scopes")
	anywhere := declared(api.KindIngress, "bank", `{"host":"a.example"}`)
	wantRefused(t, "trusted, without scopes", Rights{Trusted: true}, anywhere, "")
	wantRefused(t, "of an earlier version", Rights{}, anywhere, "names no scopes")
}

func declared(kind api.Kind, scope, spec string) api.Object {
	return api.Object{Kind: kind, Scope: scope, Name: "x", Spec: []byte(spec)}
}

func deployment(fields string) api.Object {
	return declared(api.KindDeployment, "prod", `{"image":"a",`+fields+`}`)
}

func wantRefused(t *testing.T, name string, rights Rights, object api.Object, want string) {
	t.Helper()
	got := ""
	if fault := rights.Refuse(object); fault != nil {
		if got = fault.Message; fault.Reason != api.ReasonNotAllowed || fault.Next == "" {
			t.Errorf("%s: %+v", name, fault)
		}
	}
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("%s, %+v: %q, want %q", name, rights, got, want)
	}
}

func TestRefuseChange(t *testing.T) {
	stamped := func(key, value string) api.Object {
		object := deployment(`"user":"1"`)
		object.Metadata.Stamps = map[string]string{key: value}
		return object
	}
	for name, tc := range map[string]struct {
		reason string
		stored api.Object
		want   bool
	}{
		"own":             {"it created it", stamped(api.StampCreator, "sync:shop"), false},
		"a user's":        {"it may hold what only that user may read", deployment(`"user":"1"`), true},
		"of another sync": {"another team's", stamped(api.StampCreator, "sync:bank"), true},
		"stored earlier": {"a sync of the name created it, in this life or an earlier one",
			stamped(api.StampApplySet, "sync:shop/uid-1"), false},
		"earlier, another": {"the name is longer", stamped(api.StampApplySet, "sync:shop-b/uid-1"), true},
		"a user since":     {"whatever set it names", stamped(api.StampApplySet, "laptop"), true},
	} {
		if fault := (Rights{Scopes: []string{"prod"}}).RefuseChange(tc.stored, "sync:shop"); (fault != nil) != tc.want {
			t.Errorf("%s: %s: %v", name, tc.reason, fault)
		}
		if fault := (Rights{Trusted: true}).RefuseChange(tc.stored, "sync:shop"); fault != nil {
			t.Errorf("%s: trusted: %v", name, fault)
		}
	}
}
