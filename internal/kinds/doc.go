// Package kinds holds a folder for each kind. A kind's step is a pure function of a snapshot, the object and the time;
// package control runs it. What kinds that own tasks share is in owner. The subjects of autoscaler, delivery, flapping,
// leftover and unanswered are no objects.
//
// A kind imports no other kind, commits nothing itself, and reaches no container.
package kinds
