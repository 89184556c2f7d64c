package server

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/workers"
)

// shutToSteps closes the server's own address and that of Redis to steps, where the
// machine allows that. Where it does not, the start has said so.
func (s *Stack) shutToSteps(ctx context.Context) {
	o := s.o
	p, ok := s.pool.(*workers.Pool)
	if !ok {
		return
	}
	local := localAddresses()
	addresses := addressesOf(ctx, s.Server.Addr(), local)
	if u, err := url.Parse(o.Redis); err == nil && strings.HasPrefix(u.Scheme, "redis") && u.Hostname() != "" {
		port := u.Port()
		if port == "" {
			port = "6379"
		}
		addresses = append(addresses, addressesOf(ctx, net.JoinHostPort(u.Hostname(), port), local)...)
	}
	if err := p.Shut(addresses); err != nil {
		o.Log.Info("the addresses of the server and of Redis are open to steps", "why", err)
	}
}

// addressesOf returns the addresses that a name stands for now; for a name of this
// machine, all addresses of the machine.
func addressesOf(ctx context.Context, hostPort string, local []netip.Addr) (all []netip.AddrPort) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil
	}
	ips := []netip.Addr{netip.IPv4Unspecified()}
	if host != "" {
		if ips, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
			return nil
		}
	}
	for _, ip := range ips {
		ip = ip.Unmap().WithZone("")
		if ip.IsUnspecified() || ip.IsLoopback() || slices.Contains(local, ip) {
			ips = append(slices.Clone(local), ip)
			break
		}
	}
	for _, ip := range ips {
		if a := netip.AddrPortFrom(ip.Unmap().WithZone(""), uint16(number)); !ip.IsUnspecified() && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all
}

// localAddresses returns the addresses of this machine.
func localAddresses() []netip.Addr {
	all := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return all
	}
	for _, n := range nets {
		if prefix, err := netip.ParsePrefix(n.String()); err == nil && !slices.Contains(all, prefix.Addr()) {
			all = append(all, prefix.Addr().Unmap().WithZone(""))
		}
	}
	return all
}
