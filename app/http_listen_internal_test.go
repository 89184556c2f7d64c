package app

import (
	"net"
	"strings"
	"testing"
)

// TestD10AnAddressThatCannotBeUsed holds that the answer says what to do, beside the
// system's own words.
func TestD10AnAddressThatCannotBeUsed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for address, want := range map[string]string{
		taken.Addr().String(): "another program listens there",
		"8080":                "write a port as :8080",
		"localhost":           "give --listen an address of this host",
		"127.0.0.1:none":      "give --listen an address of this host",
	} {
		s := &Server{o: ServerOptions{Address: address}}
		err := s.Listen()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "the server cannot listen on "+address) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
