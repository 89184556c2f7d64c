// Package config is the commands about .submitqueue.yml: init writes a first one
// from what a clone shows, validate checks one as the server would, schema prints
// what editors check with.
//
// How do I add a build system to init? A method beside tree.golang in detect.go, and a line of
// tree.detect.
package config
