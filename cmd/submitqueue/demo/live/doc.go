// Package live is `submitqueue demo`: the running product that package demo plays
// with and judges, a server beside a simulated GitHub or GitLab in one process.
package live
