// Package core holds the decisions: each folder is a noun, and its functions turn values into values. They read no
// clock, disk, network or store, so a test is a table of inputs and answers.
//
// Package verb is the one with a state: the table of verbs, which is complete once the program has started.
package core
