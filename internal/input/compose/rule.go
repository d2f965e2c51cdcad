package compose

import (
	"fmt"
	"strings"
)

// A rule of Traefik selects the requests of a router: Host(`a`) && PathPrefix(`/x`) || Host(`b`). It is parsed into
// alternatives, each a list of conditions that must all hold.

// condition is one matcher of a rule: Host(`a`, `b`).
type condition struct {
	name   string
	values []string
}

// maxAlternatives bounds what a rule may come to.
const maxAlternatives = 64

// parseRule reads a rule. It returns an error for one that isn't made of matchers, &&, || and parentheses.
func parseRule(text string) ([][]condition, error) {
	p := &ruleParser{rest: text}
	out, err := p.either(0)
	if err != nil {
		return nil, err
	}
	if p.skip(); p.rest != "" {
		return nil, fmt.Errorf("%q is not understood", p.rest)
	}
	return out, nil
}

type ruleParser struct{ rest string }

func (p *ruleParser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\n") }

func (p *ruleParser) take(word string) bool {
	p.skip()
	rest, found := strings.CutPrefix(p.rest, word)
	if found {
		p.rest = rest
	}
	return found
}

func (p *ruleParser) either(depth int) ([][]condition, error) {
	out, err := p.both(depth)
	for err == nil && p.take("||") {
		var next [][]condition
		next, err = p.both(depth)
		out = append(out, next...)
	}
	if len(out) > maxAlternatives {
		return nil, fmt.Errorf("it has more than %d alternatives", maxAlternatives)
	}
	return out, err
}

func (p *ruleParser) both(depth int) ([][]condition, error) {
	out, err := p.one(depth)
	for err == nil && p.take("&&") {
		var next, product [][]condition
		if next, err = p.one(depth); len(out)*len(next) > maxAlternatives {
			return nil, fmt.Errorf("it has more than %d alternatives", maxAlternatives)
		}
		for _, left := range out {
			for _, right := range next {
				product = append(product, append(append([]condition{}, left...), right...))
			}
		}
		out = product
	}
	return out, err
}

func (p *ruleParser) one(depth int) ([][]condition, error) {
	if depth > 16 {
		return nil, fmt.Errorf("its parentheses are too deep")
	}
	if p.take("!") {
		return nil, fmt.Errorf("an ingress has no ! (not)")
	}
	if p.take("(") {
		out, err := p.either(depth + 1)
		if err == nil && !p.take(")") {
			err = fmt.Errorf("a parenthesis isn't closed")
		}
		return out, err
	}
	p.skip()
	end := strings.IndexByte(p.rest, '(')
	if end <= 0 {
		return nil, fmt.Errorf("%q is not understood", p.rest)
	}
	next := condition{name: strings.TrimSpace(p.rest[:end])}
	p.rest = p.rest[end+1:]
	for !p.take(")") {
		p.skip()
		if p.rest == "" || !strings.ContainsRune("`\"'", rune(p.rest[0])) {
			return nil, fmt.Errorf("a value of %s isn't between backquotes", next.name)
		}
		quote := p.rest[0]
		end := strings.IndexByte(p.rest[1:], quote)
		if end < 0 {
			return nil, fmt.Errorf("a value of %s isn't closed", next.name)
		}
		next.values, p.rest = append(next.values, p.rest[1:end+1]), p.rest[end+2:]
		p.take(",")
	}
	return [][]condition{{next}}, nil
}

// place is a host and a path that an ingress can serve.
type place struct{ host, path string }

// placesOf returns the hosts and paths of a rule; an error says which part no ingress can express. exact are the paths
// that the rule takes alone, without what is below them.
func placesOf(rule string) (out []place, exact []string, err error) {
	alternatives, err := parseRule(rule)
	if err != nil {
		return nil, nil, err
	}
	for _, conditions := range alternatives {
		hosts, paths := []string(nil), []string{""}
		for _, is := range conditions {
			switch is.name {
			case "Host":
				if hosts != nil {
					return nil, nil, fmt.Errorf("two hosts at once")
				}
				hosts = is.values
			case "PathPrefix", "Path":
				if paths[0] != "" {
					return nil, nil, fmt.Errorf("two paths at once")
				}
				if paths = is.values; is.name == "Path" {
					exact = append(exact, is.values...)
				}
			default:
				return nil, nil, fmt.Errorf("an ingress has no %s", is.name)
			}
		}
		if len(hosts) == 0 {
			return nil, nil, fmt.Errorf("it names no host")
		}
		if len(paths) == 0 {
			paths = []string{""}
		}
		for _, host := range hosts {
			for _, path := range paths {
				out = append(out, place{strings.ToLower(host), path})
			}
		}
	}
	return out, exact, nil
}
