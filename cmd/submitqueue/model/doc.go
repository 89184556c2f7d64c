// Package model is the commands that learn from a queue's history: train makes a model of it,
// and predict says what a model believes of a change, and why.
//
//	source.go   whose history; files of models
//	train.go    the command, and the table of its report
//	predict.go  the command
package model
