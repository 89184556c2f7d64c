package app

import (
	"github.com/submitqueue/submitqueue/app/api"

	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// hosts are the names under which a server answers. A page of another site can have its
// name resolve to an address of this server (DNS rebinding), and then read this server
// as if it were that site. The host name in the request gives it away. An IP address
// belongs to no such site.
type hosts map[string]bool

// hostsOf returns the names of a server that listens on an address: the address itself,
// localhost, further names, and the hosts of URLs.
func hostsOf(listen string, more []string) hosts {
	h := hosts{"localhost": true}
	if host, _, err := net.SplitHostPort(listen); err == nil {
		h[plainHost(host)] = true
	}
	for _, m := range more {
		if u, err := url.Parse(m); err == nil && u.Host != "" {
			m = u.Host
		}
		h[plainHost(m)] = true
	}
	return h
}

// plainHost returns a host without its port, as names are compared.
func plainHost(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// has reports whether the server answers for a host; "" comes from a client that is no browser.
func (h hosts) has(host string) bool {
	name := plainHost(host)
	return host == "" || h[name] || net.ParseIP(name) != nil || strings.HasSuffix(name, ".localhost")
}

// known lets only requests through that are for a name of the server. Webhooks may have
// any name that a proxy or a tunnel gives them: they are signed. Health probes may have
// any name: they learn only whether the server works. Mounted handlers check callers
// themselves.
func (s *Server) known(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if s.hosts.has(r.Host) || s.exempt(r.URL.Path) {
			return next(c)
		}
		c.Response().Header().Set("Connection", "close")
		host := api.Tail(plainHost(r.Host), 100)
		s.log.Debug("a request for another host is refused", "host", host)
		return api.See(&api.Problem{Status: http.StatusMisdirectedRequest, Text: "This server does not go by the name " + host +
			". Open it under its own address, or tell it that name: submitqueue serve --url https://NAME, or --host NAME for one name more."}, "operate#names-of-the-server")
	}
}

func (s *Server) exempt(path string) bool {
	if path == "/healthz" || path == "/readyz" || path == "/webhook" || strings.HasPrefix(path, "/webhook/") {
		return true
	}
	for prefix := range s.o.Mounts {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
