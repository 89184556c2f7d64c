// Package gitlabaccount tells commands which GitLab they work with, and by which token and
// secret: by flags, and by files in the data folder that `submitqueue setup gitlab`
// writes.
package gitlabaccount
