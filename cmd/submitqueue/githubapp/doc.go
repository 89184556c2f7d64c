// Package githubapp is the credentials of the GitHub App that a server works as: the
// flags that name them, and the file that the set-up page writes. It makes no requests.
package githubapp
