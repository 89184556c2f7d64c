// Package inspect is the commands that look at a clone and need no server: targets,
// affected, conflicts, and audit inputs. They answer as the queue would: they merge and
// analyze as it does, by app.Inspector, and never write to the clone.
//
// A command embeds [Flags], calls inspect, which opens the clone, finds the
// configuration and analyzes the base, and makes a report of the inspection. The
// report is printed as JSON, complete, or for people, in lines that fit:
//
//	affected.go       what is found        targets.go       conflicts.go       audit.go
//	affected_text.go  how it is printed    targets_text.go  conflicts_text.go  audit_text.go
package inspect
