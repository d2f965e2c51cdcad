package manifest

// nodeKind is the kind of a value in the text, before it is decoded as the type of its field.
type nodeKind int

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	textNode
	listNode
	objectNode
	callNode // file("…") or url("…", { … }): text is the function, items its arguments
)

func (k nodeKind) String() string {
	return [...]string{"nothing", "true or false", "a number", "text", "a list", "an object", "a call"}[k]
}

// node is one value in any of the three languages, with its position. Everything after the parsers sees only nodes.
type node struct {
	kind nodeKind
	// text is the scalar as written: "true", "1.50", or the text without its quotes.
	text   string
	items  []*node
	fields []field
	at     span
	// block marks an HCL block; labels are its labels.
	block  bool
	labels []label
}

// field is one entry of an object. A repeated HCL block is several fields with one key.
type field struct {
	key   string
	at    span
	value *node
}

type label struct {
	text string
	at   span
}

// find returns the first field of a key, or nil.
func (n *node) find(key string) *field {
	for i := range n.fields {
		if n.fields[i].key == key {
			return &n.fields[i]
		}
	}
	return nil
}

// Limits on the expansion of a text, such as by aliases of YAML.
const (
	maxNodes = 200_000
	maxDepth = 32
)
