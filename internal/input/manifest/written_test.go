package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

// TestBlocks: the text of a block is that of its file, to the letter, with its comments.
func TestBlocks(t *testing.T) {
	const web = `# The web.
# It is small.
deployment "shop" "web" {
  image   =   "web:${TAG:-1}" # mine
  command = ["sh", "-c", "}"]
  env = { A = "${KEY}" }
  health_check {
    http { path = "/" }
  }
}`
	const network = `network "shop_default" {
}`
	blocks, err := Blocks("shop.hcl", []byte("# Of the file.\n\n"+web+"\n\n# Between.\n\n"+network+"\nweb_app \"shop\" \"x\" {\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Written{
		{api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: "web"}, []byte(web)},
		{api.Ref{Kind: api.KindNetwork, Scope: api.Unscoped, Name: "shop_default"}, []byte(network)},
		{api.Ref{}, []byte("web_app \"shop\" \"x\" {\n}")},
	}
	if diff := cmp.Diff(want, blocks); diff != "" {
		t.Error(diff)
	}
	if _, err := Blocks("shop.hcl", []byte("deployment {")); err == nil {
		t.Error("a text that isn't HCL has blocks")
	}
}
