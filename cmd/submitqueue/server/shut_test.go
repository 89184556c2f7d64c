package server

import (
	"net/netip"
	"slices"
	"testing"
)

// Of an address on this machine all are closed that it has, with the same port.
func TestAddressesToShut(t *testing.T) {
	t.Parallel()
	local := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"), netip.MustParseAddr("192.0.2.7")}
	here := []string{"127.0.0.1:80", "[::1]:80", "192.0.2.7:80"}
	for address, want := range map[string][]string{
		"127.0.0.1:80": here, "192.0.2.7:80": here, "[::]:80": here, ":80": here, "0.0.0.0:80": here,
		"198.51.100.1:6379": {"198.51.100.1:6379"}, "[2001:db8::1]:1": {"[2001:db8::1]:1"}, "nonsense": nil,
	} {
		var got []string
		for _, a := range addressesOf(t.Context(), address, local) {
			got = append(got, a.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v", address, got)
		}
	}
}
