// Package verb holds what is said of the verbs of objects: restart, scale, extend. A verb is declared once, beside what
// carries it out. From its declaration follow its route, its operation in the API's description, its row in the table
// of rights, how its input is written and read, and its commands, if they do no more than call it and print.
//
// It carries out nothing: package verbs decides what a verb stores, and the server, by which containers and receivers
// are reached, has a few of its own.
//
//	verb.Register(verb.Of[Input, api.VerbResult](verb.Verb{Name: "restart", Summary: "Replace every pod", Rule: rule}))
package verb
