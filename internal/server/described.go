package server

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Media types of bodies that aren't a single JSON value.
const (
	jsonLines = "application/jsonl"
	plainText = "text/plain"
	fileBytes = "application/octet-stream"
	pemText   = "application/x-pem-file"
	zstdBytes = "application/zstd"
)

// shape describes the input and output of a net/http handler, which huma can't derive.
type shape struct {
	query []*huma.Param
	// at are all parameters, those in the path too. Default: those of the path, and query.
	at []*huma.Param
	// takes is the body by media type; nil without a body.
	takes map[string]*huma.Schema
	// answers are by status. Errors that any operation may answer needn't be named.
	answers map[int]reply
}

// reply is one answer: a sentence, and the body by media type.
type reply struct {
	text string
	body map[string]*huma.Schema
}

// usualErrors are the statuses with a problem as the body that any operation may answer.
var usualErrors = []int{400, 401, 404, 409, 422, 500, 503}

// of returns the schema of a type.
func of[T any](s *Server) *huma.Schema {
	kind := reflect.TypeFor[T]()
	return s.api.OpenAPI().Components.Schemas.Schema(kind, true, kind.Name())
}

// inJSON returns a body of one JSON value.
func inJSON[T any](s *Server) map[string]*huma.Schema {
	return map[string]*huma.Schema{"application/json": of[T](s)}
}

// eachLine returns a body of JSON lines, or of server-sent events with one JSON value each.
func eachLine[T any](s *Server) map[string]*huma.Schema {
	return map[string]*huma.Schema{jsonLines: of[T](s), "text/event-stream": {Type: huma.TypeString}}
}

// raw returns a body of bytes or text.
func raw(mediaType string) map[string]*huma.Schema {
	schema := &huma.Schema{Type: huma.TypeString}
	if mediaType == fileBytes || mediaType == zstdBytes {
		schema.Format = "binary"
	}
	return map[string]*huma.Schema{mediaType: schema}
}

// replies returns the answer with status 200, for an operation that has no other success.
func replies(text string, body map[string]*huma.Schema) map[int]reply {
	return map[int]reply{http.StatusOK: {text, body}}
}

// queryOfTexts returns parameters: a plain name is a text, a name with "?" after it a boolean, one with "#" a number.
func queryOfTexts(names ...string) []*huma.Param {
	var out []*huma.Param
	for _, name := range names {
		kind := huma.TypeString
		if bare, ok := strings.CutSuffix(name, "?"); ok {
			name, kind = bare, huma.TypeBoolean
		} else if bare, ok := strings.CutSuffix(name, "#"); ok {
			name, kind = bare, huma.TypeInteger
		}
		out = append(out, &huma.Param{Name: name, In: "query", Schema: &huma.Schema{Type: kind}})
	}
	return out
}

// documented registers a net/http handler and describes it in the OpenAPI document.
func (s *Server) documented(method, path, summary string, d shape, handle http.HandlerFunc) {
	if d.at == nil {
		d.at = append(pathParameters(path), d.query...)
	}
	operation := &huma.Operation{Method: method, Path: path, Summary: summary, OperationID: operationID(method, path),
		Parameters: d.at, Responses: map[string]*huma.Response{}}
	if d.takes != nil {
		operation.RequestBody = &huma.RequestBody{Required: true, Content: contentOf(d.takes)}
	}
	for _, status := range usualErrors {
		operation.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status),
			Content: contentOf(map[string]*huma.Schema{"application/problem+json": of[shownProblem](s)})}
	}
	for status, said := range d.answers {
		operation.Responses[strconv.Itoa(status)] = &huma.Response{Description: said.text, Content: contentOf(said.body)}
	}
	s.api.OpenAPI().AddOperation(operation)
	checkedMux{s}.HandleFunc(method+" "+path, handle)
}

func contentOf(body map[string]*huma.Schema) map[string]*huma.MediaType {
	out := map[string]*huma.MediaType{}
	for mediaType, schema := range body {
		out[mediaType] = &huma.MediaType{Schema: schema}
	}
	return out
}

func pathParameters(path string) []*huma.Param {
	var out []*huma.Param
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			out = append(out, &huma.Param{Name: strings.TrimSuffix(name, "}"), In: "path", Required: true,
				Schema: &huma.Schema{Type: huma.TypeString}})
		}
	}
	return out
}
