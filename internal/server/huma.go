package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"tend.dev/tend/api"
)

// shownProblem is an api.Problem as huma writes it.
type shownProblem struct{ *api.Problem }

func (p shownProblem) GetStatus() int { return p.Status }

// ContentType returns the content type of RFC 9457.
func (p shownProblem) ContentType(string) string { return "application/problem+json" }

// huma keeps its error type in package variables; this server is the only user of huma in the program.
func init() {
	huma.NewErrorWithContext = func(_ huma.Context, status int, message string, errs ...error) huma.StatusError {
		return problemOfHuma(status, message, errs)
	}
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return problemOfHuma(status, message, errs)
	}
}

// problemOfHuma translates the errors that huma found in a request's parameters.
func problemOfHuma(status int, message string, errs []error) shownProblem {
	problem := &api.Problem{Status: status, Detail: message, Next: "/openapi.json says what each path takes"}
	if status == http.StatusUnprocessableEntity {
		problem.Status = http.StatusBadRequest
	}
	for _, err := range errs {
		if err == nil {
			continue
		}
		if broken, ok := errors.AsType[*bodyError](err); ok {
			return shownProblem{problemOf(broken)}
		}
		fault := api.FieldError{Detail: err.Error()}
		var detailer huma.ErrorDetailer
		if errors.As(err, &detailer) {
			detail := detailer.ErrorDetail()
			fault = api.FieldError{Field: strings.TrimPrefix(detail.Location, "query."), Detail: detail.Message}
		}
		problem.Errors = append(problem.Errors, fault)
	}
	return shownProblem{problemOf(problem)}
}

func newHuma(mux humago.Mux, version string) huma.API {
	return humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{Title: "Tend", Version: version,
				Description: "Keeps what you declared running. Errors are RFC 9457 problems with a `next` step."},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName),
				SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer",
					Description: "A token of `tend tokens add`, or on the server's machine alone the content of <root>/token. " +
						"The unix socket asks for none."}},
			},
			Security: []map[string][]string{{"token": {}}},
		},
		OpenAPIPath:                  "/openapi",
		Formats:                      huma.DefaultFormats,
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	})
}

// bodyOf is an answer in the form huma expects.
type bodyOf[T any] struct{ Body T }

// typed registers a plain function as an endpoint. In's fields are tagged path, query or Body.
func typed[In, Out any](s *Server, method, path, summary string, handle func(context.Context, *In) (Out, error)) {
	operation := huma.Operation{Method: method, Path: path, Summary: summary, OperationID: operationID(method, path),
		MaxBodyBytes: maxSmallBody, Errors: usualErrors}
	huma.Register(s.api, operation, func(ctx context.Context, in *In) (*bodyOf[Out], error) {
		out, err := handle(ctx, in)
		if err == nil {
			noteAnswer(ctx, out)
			return &bodyOf[Out]{out}, nil
		}
		return nil, shownProblem{s.problemFor(ctx, method, path, err)}
	})
}

// operationID returns, for example, get-v1-pods-pod-logs for GET /v1/pods/{pod}/logs.
func operationID(method, path string) string {
	path = strings.NewReplacer("/", "-", "{", "", "}", "").Replace(path)
	return strings.ToLower(method) + path
}
