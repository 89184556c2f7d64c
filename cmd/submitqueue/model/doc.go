// Package model is the commands that learn from a queue's history. train makes a model from
// it. predict says what a model predicts of a change, and why. model shows the models that
// a server has learned on its own, and chooses among them.
//
//	source.go   where the history comes from; files of models
//	train.go    the command, and the table of its report
//	predict.go  the command
//	choose.go   the commands of a server's models
package model
