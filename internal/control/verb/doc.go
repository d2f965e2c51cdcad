// Package verb holds what is said of the verbs of objects: restart, scale, extend. A verb is declared once, beside what
// carries it out. From its declaration follow its route, its operation in the API's description, its row in the table
// of rights, how its input is written and read, and its commands, if they do no more than call it and print.
//
// It carries out nothing. Package verbs decides what a verb stores; verbs that reach containers or receivers are
// declared in the server, whose Verbs are all there are. A kind of its own declares its verbs by verbs.Declare; the toy
// kind shows it.
package verb
