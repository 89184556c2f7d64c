// Package config is the commands about .submitqueue.yml: init writes a first one from
// the files of a clone, validate checks one as the server would, and schema prints the
// schema for editors.
//
// How do I add a build system to init? A row of All in package analyzers, with a Find.
package config
