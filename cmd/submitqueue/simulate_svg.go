package main

// draw makes the picture; no file, nothing to do.
func (s *simulateCommand) draw(simulateFigures) error { return nil }
