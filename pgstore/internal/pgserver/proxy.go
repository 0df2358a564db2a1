package pgserver

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// Proxy stands between clients and a server, and treats their connections as a network can.
type Proxy struct {
	tb       testing.TB
	listener net.Listener
	done     sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	target  string
	stalled bool
	refuses bool
	fault   Fault
	after   int
	struck  int
	opened  int
	links   map[*link]bool
	closed  bool
}

// Fault is what a proxy does at one message of a client.
type Fault int

// The faults. The server never sees the message, or answers it into the void.
const (
	NoFault   Fault = iota
	CutBefore       // the connection ends instead of the message being passed on
	CutAfter        // the message is passed on; when the server has answered, the connection ends instead of the answer
)

// link is one client's connection and its way on.
type link struct {
	client, server net.Conn
	doomed         bool // the next answer is lost
	frozen         bool // nothing passes any more
}

// NewProxy starts a proxy in front of an address, until the test ends.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{tb: tb, listener: l, target: target, links: map[*link]bool{}}
	p.changed = sync.NewCond(&p.mu)
	p.done.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Addr is the host and port that the proxy listens on.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// DSN is the connection string of a database behind the proxy, for postgres.
func (p *Proxy) DSN(database string) string { return dsn(p.Addr(), "postgres", database) }

// Stall lets all connections, new ones too, take bytes and pass none on, in either direction, so that nobody hears of an error:
// what half-open connections and servers that stand still look like.
func (p *Proxy) Stall() { p.set(func() { p.stalled = true }) }

// Resume passes on again, with what was held back.
func (p *Proxy) Resume() { p.set(func() { p.stalled = false }) }

// Freeze lets the connections that there are stand still for ever, while new ones work: what is left when a firewall has forgotten
// them.
func (p *Proxy) Freeze() {
	p.set(func() {
		for l := range p.links {
			l.frozen = true
		}
	})
}

// Refuse ends all connections, and new ones at once, until Accept.
func (p *Proxy) Refuse() {
	p.set(func() { p.refuses = true })
	p.Cut()
}

// Accept takes connections again.
func (p *Proxy) Accept() { p.set(func() { p.refuses = false }) }

// Cut resets all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.frozen = false
		l.reset()
	}
	p.changed.Broadcast()
}

// Arm lets a fault happen at the message that comes after so many others, counted over all connections from now on. A message is
// what a client sends in one piece; a pipelined batch is one.
func (p *Proxy) Arm(f Fault, after int) {
	p.set(func() { p.fault, p.after = f, after })
}

// Struck is how many faults have happened.
func (p *Proxy) Struck() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.struck
}

// Opened is how many connections clients have tried.
func (p *Proxy) Opened() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opened
}

// Open is how many connections there are.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.changed.Broadcast()
}

func (p *Proxy) close() {
	p.set(func() { p.closed = true })
	p.listener.Close()
	p.Cut()
	p.done.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.done.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	p.opened++
	refuses, target := p.refuses || p.closed, p.target
	p.mu.Unlock()
	if refuses {
		(&link{client: client}).reset()
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		(&link{client: client}).reset()
		return
	}
	l := &link{client: client, server: server}
	p.mu.Lock()
	p.links[l] = true
	if p.refuses || p.closed {
		l.reset()
	}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.pass(l, client, server, p.judge) })
	both.Go(func() { p.pass(l, server, client, p.answer) })
	both.Wait()
	client.Close()
	server.Close()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// pass copies one direction, as long as the judge lets it. Whoever says farewell is heard on the other side.
func (p *Proxy) pass(l *link, from, to net.Conn, judge func(*link) bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !judge(l) {
			break
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if errors.Is(err, io.EOF) {
			to.(*net.TCPConn).CloseWrite()
			return
		}
		if err != nil {
			break
		}
	}
	l.reset()
}

// judge says whether a client's message is passed on.
func (p *Proxy) judge(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold(l)
	if p.fault == NoFault {
		return true
	}
	if p.after--; p.after >= 0 {
		return true
	}
	f := p.fault
	p.fault = NoFault
	p.struck++
	l.doomed = f == CutAfter
	return l.doomed
}

// answer says whether an answer is passed on.
func (p *Proxy) answer(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold(l)
	return !l.doomed
}

// hold waits while the proxy stalls.
func (p *Proxy) hold(l *link) {
	for (p.stalled || l.frozen) && !p.closed {
		p.changed.Wait()
	}
}

// reset ends both halves, without the farewell that would be passed on.
func (l *link) reset() {
	for _, c := range []net.Conn{l.client, l.server} {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0)
			tcp.Close()
		}
	}
}
