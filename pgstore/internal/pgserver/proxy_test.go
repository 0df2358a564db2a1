package pgserver

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// echo answers each line with itself, and counts them.
func echo(t *testing.T) (addr string, heard *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	heard = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewScanner(conn); in.Scan(); {
					heard.Add(1)
					if in.Text() == "bye" {
						io.WriteString(conn, "farewell\n")
						return
					}
					io.WriteString(conn, in.Text()+"\n")
				}
			}()
		}
	}()
	return l.Addr().String(), heard
}

// caller is a client of the echo.
type caller struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func call(t *testing.T, addr string) *caller {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &caller{t, conn, bufio.NewReader(conn)}
}

// ask sends a line and waits for the answer.
func (c *caller) ask(line string, patience time.Duration) (string, error) {
	c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c.Conn, line+"\n"); err != nil {
		return "", err
	}
	return c.hear()
}

func (c *caller) hear() (string, error) {
	got, err := c.in.ReadString('\n')
	return strings.TrimSuffix(got, "\n"), err
}

func (c *caller) must(line string) {
	c.t.Helper()
	if got, err := c.ask(line, patience); got != line || err != nil {
		c.t.Fatalf("%q is answered with %q, %v", line, got, err)
	}
}

func (c *caller) mustEnd(line string) {
	c.t.Helper()
	if got, err := c.ask(line, patience); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("%q is answered with %q, %v; want the end of the connection", line, got, err)
	}
}

func TestProxyPasses(t *testing.T) {
	target, _ := echo(t)
	p := NewProxy(t, target)
	c := call(t, p.Addr())
	c.must("a")
	c.must(strings.Repeat("long", 10_000))
	if p.Open() != 1 || p.Opened() != 1 {
		t.Errorf("%d of %d connections are open", p.Open(), p.Opened())
	}
	if got, err := c.ask("bye", patience); got != "farewell" || err != nil {
		t.Errorf("the last words are %q, %v", got, err)
	}
	if got, err := c.hear(); err != io.EOF {
		t.Errorf("then comes %q, %v", got, err)
	}
}

func TestProxyStalls(t *testing.T) {
	target, heard := echo(t)
	p := NewProxy(t, target)
	old := call(t, p.Addr())
	old.must("a")
	p.Stall()
	young := call(t, p.Addr())
	for _, c := range []*caller{old, young} {
		if got, err := c.ask("b", 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a proxy that stands still answers %q, %v", got, err)
		}
	}
	if heard.Load() != 1 {
		t.Error("the server hears what is held back")
	}
	p.Resume()
	for _, c := range []*caller{old, young} {
		c.SetDeadline(time.Now().Add(patience))
		if got, err := c.hear(); got != "b" || err != nil {
			t.Errorf("afterwards comes %q, %v", got, err)
		}
	}
}

func TestProxyFreezes(t *testing.T) {
	target, heard := echo(t)
	p := NewProxy(t, target)
	old := call(t, p.Addr())
	old.must("a")
	p.Freeze()
	if got, err := old.ask("b", 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) || heard.Load() != 1 {
		t.Errorf("a frozen connection answers %q, %v", got, err)
	}
	call(t, p.Addr()).must("c")
	p.Cut()
	old.mustEnd("d")
}

func TestProxyCutsAndRefuses(t *testing.T) {
	target, _ := echo(t)
	p := NewProxy(t, target)
	c := call(t, p.Addr())
	c.must("a")
	p.Cut()
	c.mustEnd("b")
	p.Refuse()
	conn, err := net.Dial("tcp", p.Addr())
	if err == nil {
		(&caller{t, conn, bufio.NewReader(conn)}).mustEnd("c")
	}
	p.Accept()
	call(t, p.Addr()).must("d")
}

func TestProxyFaults(t *testing.T) {
	for name, f := range map[string]struct {
		fault Fault
		heard int64
	}{"before": {CutBefore, 2}, "after": {CutAfter, 3}} {
		t.Run(name, func(t *testing.T) {
			target, heard := echo(t)
			p := NewProxy(t, target)
			p.Arm(f.fault, 2)
			c := call(t, p.Addr())
			c.must("a")
			c.must("b")
			c.mustEnd("c")
			if heard.Load() != f.heard || p.Struck() != 1 {
				t.Errorf("the server has heard %d lines, %d faults have struck", heard.Load(), p.Struck())
			}
			call(t, p.Addr()).must("d")
		})
	}
}
