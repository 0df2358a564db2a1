package dashboard

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// AllowAll is an Authorize for local development: it gives ReadWrite to requests from this machine that ask for this machine, and
// denies all others.
//
// The Host header must be localhost or a loopback address, so that no other site's name that was made to lead here is taken. The
// peer must be a loopback address or a unix socket. And the request must carry no Forwarded, X-Forwarded-*, X-Real-IP or Via header,
// with which proxies tell that they speak for somebody else. A proxy on the same machine that keeps silent about it cannot be
// told apart from a person on this machine, so do not use AllowAll behind one.
func AllowAll(r *http.Request) Access {
	if localHost(r.Host) && localPeer(r) && !forwarded(r.Header) {
		return ReadWrite
	}
	return Denied
}

// localHost says that a Host header names this machine.
func localHost(host string) bool {
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		name = h
		if strings.Contains(name, ":") != strings.HasPrefix(host, "[") {
			return false
		}
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	}
	return strings.EqualFold(name, "localhost") || loopback(name)
}

func loopback(address string) bool {
	addr, err := netip.ParseAddr(address)
	return err == nil && addr.Unmap().IsLoopback()
}

// localPeer says that the connection comes from this machine. Package net/http always gives an address with a port, so one without
// comes from elsewhere, such as from a header that a middleware took it from.
func localPeer(r *http.Request) bool {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local != nil && strings.HasPrefix(local.Network(), "unix") {
		return true
	} else if !ok && (strings.HasPrefix(r.RemoteAddr, "@") || strings.HasPrefix(r.RemoteAddr, "/")) {
		return true
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && loopback(host)
}

// forwarded says that a proxy passed the request on.
func forwarded(header http.Header) bool {
	for name := range header {
		name = strings.ToLower(name)
		switch {
		case name == "forwarded", name == "x-real-ip", name == "via", strings.HasPrefix(name, "x-forwarded-"):
			return true
		}
	}
	return false
}
