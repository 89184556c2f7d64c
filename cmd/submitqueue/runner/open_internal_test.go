package runner

import "testing"

// An address by which secrets can be read on the way is told from one that stays on the machine.
func TestOpen(t *testing.T) {
	for address, want := range map[string]bool{
		"https://queue.example.com": false, "http://queue.example.com": true, "http://10.0.0.7:8080": true, "http://127.0.0.1:8080": false, "http://[::1]:8080": false, "http://localhost": false,
		"http://127.0.0.1.example.com": true, "http://localhost.example.com": true,
	} {
		if got := open(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
