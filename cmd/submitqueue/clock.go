package main

import "time"

// started is when the program began, for clocks that count from there.
var started = time.Now()
