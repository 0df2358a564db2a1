package dashboard

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/kilnjobs/kiln"
	"github.com/kilnjobs/kiln/memstore"
)

func TestAllowAllHostsAndPeers(t *testing.T) {
	for _, c := range []struct {
		host, peer string
		want       Access
	}{
		{"localhost", "127.0.0.1:5000", ReadWrite},
		{"localhost:8080", "127.0.0.1:5000", ReadWrite},
		{"LocalHost:8080", "127.0.0.1:5000", ReadWrite},
		{"127.0.0.1", "127.0.0.1:5000", ReadWrite},
		{"127.0.0.1:8080", "[::1]:5000", ReadWrite},
		{"127.8.9.10:8080", "127.8.9.10:5000", ReadWrite},
		{"[::1]", "[::1]:5000", ReadWrite},
		{"[::1]:8080", "[::1]:5000", ReadWrite},
		{"::1", "[::1]:5000", ReadWrite},
		{"[::ffff:127.0.0.1]:8080", "[::ffff:127.0.0.1]:5000", ReadWrite},
		{"[0:0:0:0:0:0:0:1]", "127.0.0.1:5000", ReadWrite},
		{"localhost", "@", ReadWrite},
		{"localhost", "/run/app.sock", ReadWrite},

		// Names that were made to lead here, and those that only look like the right ones.
		{"evil.example.com", "127.0.0.1:5000", Denied},
		{"localhost.evil.example.com", "127.0.0.1:5000", Denied},
		{"evil-localhost", "127.0.0.1:5000", Denied},
		{"localhost.", "127.0.0.1:5000", Denied},
		{"sub.localhost", "127.0.0.1:5000", Denied},
		{"127.0.0.1.nip.io", "127.0.0.1:5000", Denied},
		{"127.1", "127.0.0.1:5000", Denied},
		{"0.0.0.0:8080", "127.0.0.1:5000", Denied},
		{"[::]:8080", "127.0.0.1:5000", Denied},
		{"192.168.1.5:8080", "127.0.0.1:5000", Denied},
		{"[::ffff:192.168.1.5]:8080", "127.0.0.1:5000", Denied},
		{"", "127.0.0.1:5000", Denied},
		{":8080", "127.0.0.1:5000", Denied},
		{"localhost:http", "127.0.0.1:5000", Denied},
		{"localhost:99999", "127.0.0.1:5000", Denied},
		{"[localhost]:8080", "127.0.0.1:5000", Denied},
		{"localhost@evil.example.com", "127.0.0.1:5000", Denied},

		// Peers elsewhere, and addresses that no connection has.
		{"localhost", "10.0.0.7:5000", Denied},
		{"localhost", "192.0.2.1:1234", Denied},
		{"localhost", "[2001:db8::1]:5000", Denied},
		{"localhost", "[::ffff:10.0.0.7]:5000", Denied},
		{"localhost", "127.0.0.1", Denied},
		{"localhost", "", Denied},
		{"localhost", "localhost:5000", Denied},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host, r.RemoteAddr = c.host, c.peer
		if got := AllowAll(r); got != c.want {
			t.Errorf("host %q, peer %q: access %d, want %d", c.host, c.peer, got, c.want)
		}
	}
}

// A proxy that tells that it is one speaks for somebody else, whatever it says of them.
func TestAllowAllProxies(t *testing.T) {
	for _, name := range []string{
		"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Anything", "X-Real-IP", "X-Real-Ip", "Via",
		"x-forwarded-for", "FORWARDED",
	} {
		for _, value := range []string{"127.0.0.1", "for=127.0.0.1", ""} {
			r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
			r.RemoteAddr = "127.0.0.1:5000"
			if got := AllowAll(r); got != ReadWrite {
				t.Fatalf("without the header: access %d", got)
			}
			r.Header[name] = []string{value}
			if got := AllowAll(r); got != Denied {
				t.Errorf("%s: %q: access %d, want denied", name, value, got)
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
	r.RemoteAddr = "127.0.0.1:5000"
	r.Header.Set("X-Request-Id", "1")
	if got := AllowAll(r); got != ReadWrite {
		t.Errorf("with a header that says nothing of proxies: access %d", got)
	}
}

// Real connections, over TCP and over a unix socket.
func TestAllowAllConnections(t *testing.T) {
	var got Access
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = AllowAll(r) })
	tcp := httptest.NewServer(handler)
	defer tcp.Close()
	reply, err := http.Get(tcp.URL)
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if got != ReadWrite {
		t.Errorf("over TCP: access %d", got)
	}

	dir, err := os.MkdirTemp("", "kiln") // the test's own folder may have too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go server.Serve(listener)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", listener.Addr().String())
	}}}
	got = Denied
	if reply, err = client.Get("http://localhost/"); err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if got != ReadWrite {
		t.Errorf("over a unix socket: access %d", got)
	}
	if reply, err = client.Get("http://evil.example.com/"); err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if got != Denied {
		t.Errorf("over a unix socket for another host: access %d", got)
	}
}

// An address of a socket does not count on a connection that is none.
func TestAllowAllBelievesTheConnection(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
	r.RemoteAddr = "@"
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)})))
	if got := AllowAll(r); got != Denied {
		t.Errorf("access %d, want denied", got)
	}
}

func TestNewNeedsWhatItCannotDoWithout(t *testing.T) {
	client := kiln.NewClient(memstore.New())
	allow := func(*http.Request) Access { return ReadWrite }
	for name, f := range map[string]func(){
		"Authorize":      func() { New(client, Options{}) },
		"client":         func() { New(nil, Options{Authorize: allow}) },
		"TrustedOrigins": func() { New(client, Options{Authorize: allow, TrustedOrigins: []string{"ops.example.com"}}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("New did not panic")
				}
			}()
			f()
		})
	}
}

func TestOptionsNormalised(t *testing.T) {
	for given, want := range map[string]string{"": "", "/": "", "kiln": "/kiln", "/kiln": "/kiln", "/kiln/": "/kiln", "a/b/": "/a/b", "//a//b": "/a/b"} {
		o := Options{Prefix: given, Authorize: AllowAll}.normalised()
		if o.Prefix != want || o.Title != "kiln" {
			t.Errorf("prefix %q is %q, want %q; title %q", given, o.Prefix, want, o.Title)
		}
	}
	if o := (Options{Authorize: AllowAll, Title: "Jobs"}).normalised(); o.Title != "Jobs" {
		t.Errorf("title is %q", o.Title)
	}
}

func TestParts(t *testing.T) {
	for part, want := range map[Part]string{
		PartArgs: "args", PartMeta: "meta", PartOutput: "output", PartError: "error",
		PartConsole: "console", PartTitle: "title", PartTags: "tags", 7: "unknown", 255: "unknown",
	} {
		if got := part.String(); got != want {
			t.Errorf("part %d is %q, want %q", part, got, want)
		}
	}
	if Denied != 0 || ReadOnly != 1 || ReadWrite != 2 || PartArgs != 0 || PartError != 3 || PartTags != 6 {
		t.Error("the numbers of accesses and parts are fixed")
	}
}
