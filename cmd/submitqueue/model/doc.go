// Package model is the commands that learn from a queue's history: train makes a model of it,
// predict says what a model believes of a change, and why, and model shows what a server has
// learned by itself, and chooses from it.
//
//	source.go   whose history; files of models
//	train.go    the command, and the table of its report
//	predict.go  the command
//	choose.go   the commands of a server's models
package model
