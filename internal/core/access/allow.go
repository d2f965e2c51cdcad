package access

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// forbidden is HTTP's status of a refusal.
const forbidden = 403

// Call describes a request.
type Call struct {
	// Route is the pattern of the API's mux.
	Route string
	// Kind is the kind of the object in the path, if the path has one. Scope comes from the path, from the parameter
	// scope, or from the pod in the path; empty if none of them has it.
	Kind  api.Kind
	Scope string
	// Parameters are the names of the query's parameters.
	Parameters []string
}

// Allow returns why a call is refused; nil if it is allowed.
func (t Table) Allow(g Grant, c Call) *api.Problem {
	rule, known := t[c.Route]
	if !known {
		rule = Rule{Least: api.Admin, Does: c.Route}
	}
	if rule.Above != "" && slices.Contains(c.Parameters, rule.Above) {
		rule.Least, rule.Does = api.Deployer, rule.Does+" with values"
	}
	switch {
	case g.Role == api.Admin:
		return nil
	case rank(g.Role) < rank(rule.Least):
		return refusal(g, rule.Does+" needs "+string(rule.Least), nextRole(rule.Least, c.Scope, g))
	case rule.Bound == Whole && g.Limited():
		return refusal(g, rule.Does+" needs a token without scopes", nextRole(g.Role, "", Grant{}))
	case rule.Bound == OfPod && g.Limited() && (c.Scope == "" || !g.Covers(c.Scope)):
		// whether another scope has it, is its own affair
		return refusal(g, "there is no such pod in these scopes", "`tend get pods` lists those there are")
	case rule.Bound == Named && c.Scope == "" && g.Limited():
		return refusal(g, rule.Does+" needs the name of a scope", "name one of these: scope/name, or the parameter scope")
	case c.Scope != "" && !g.Covers(c.Scope):
		return refusal(g, c.Scope+" is another scope", nextRole(rule.Least, c.Scope, Grant{}))
	case rule.Least == api.Deployer && (c.Scope == api.Unscoped || c.Kind.Delivered()):
		return refusal(g, rule.Does+" needs admin, for what is in no scope or in a Kubernetes cluster",
			nextRole(api.Admin, "", Grant{}))
	}
	return nil
}

// AllowScope returns why a call may not be about one more scope, which is in its body; nil if it may.
func AllowScope(g Grant, scope string) *api.Problem {
	if g.Covers(scope) {
		return nil
	}
	return refusal(g, scope+" is another scope", nextRole(g.Role, scope, Grant{}))
}

func refusal(g Grant, why, next string) *api.Problem {
	if g.Containers { // they have no token that an admin could replace
		next = "have a person run it: what containers call may do what a deployer of their scope may"
	}
	return &api.Problem{Type: api.ProblemType + "Forbidden", Title: "Forbidden", Status: forbidden,
		Detail: g.String() + ": " + why, Next: next}
}

// nextRole returns the command with which an admin creates a sufficient token: for the requested scope, else for those
// of the grant.
func nextRole(role api.AccessRole, scope string, g Grant) string {
	command := "ask an admin for a token: tend tokens add NAME --role " + string(role)
	switch {
	case role == api.Admin:
	case scope != "" && scope != api.Unscoped:
		command += " --scope " + scope
	case len(g.Scopes) > 0:
		command += " --scope " + strings.Join(g.Scopes, ",")
	}
	return command
}
