package names

// SweepNow is Sweep however few names are dead.
func (t *Table) SweepNow() { t.sweep() }
