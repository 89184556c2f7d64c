// Package gitlabaccount is how commands are told which GitLab they work with, and by which
// token and secret: flags, and files in the data folder that `submitqueue setup gitlab`
// keeps. The caller decides who may use them.
package gitlabaccount
