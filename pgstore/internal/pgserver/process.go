package pgserver

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// patience bounds each start and each stop.
const patience = 30 * time.Second

// process is a program in a folder of its own.
type process struct {
	tb   testing.TB
	dir  string
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
}

// folder makes a folder that the confined program may use. Those of testing.TB are closed to other users.
func folder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "kiln-pgserver-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	if err := handOver(dir); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// command is a program that writes what it says to a file of the folder.
func (p *process) command(name string, args ...string) *exec.Cmd {
	p.tb.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC", "HOME="+p.dir)
	if err := confine(cmd); err != nil {
		p.tb.Fatal(err)
	}
	return cmd
}

// launch starts a program in the background.
func (p *process) launch(cmd *exec.Cmd) error {
	log, err := os.OpenFile(p.dir+"/log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.over = cmd, make(chan struct{})
	go func(over chan struct{}) {
		cmd.Wait()
		close(over)
	}(p.over)
	return nil
}

// end sends a signal and waits until the program has ended. It does nothing to one that has.
func (p *process) end(signal os.Signal) {
	p.tb.Helper()
	if p.cmd == nil {
		return
	}
	select {
	case <-p.over:
		return
	default:
	}
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.tb.Error(err)
	}
	select {
	case <-p.over:
	case <-time.After(patience):
		p.tb.Errorf("%s did not end within %s of %s\n%s", p.cmd.Path, patience, signal, p.tail())
		p.cmd.Process.Kill()
		<-p.over
	}
}

// Log is all that the program has said.
func (p *process) Log() string {
	p.tb.Helper()
	text, err := os.ReadFile(p.dir + "/log")
	if err != nil {
		p.tb.Fatal(err)
	}
	return string(text)
}

// tail is the end of the log.
func (p *process) tail() string {
	text := strings.TrimSpace(p.Log())
	return text[max(0, len(text)-2000):]
}

// poll asks until the answer is yes, the program has ended or patience has.
func (p *process) poll(ready func() bool) error {
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-p.over:
			return fmt.Errorf("%s ended at its start", p.cmd.Path)
		case <-tick.C:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready after %s", p.cmd.Path, patience)
		}
	}
	return nil
}

// freePort finds a port that nobody listens on. It keeps away from those that the system gives to outgoing connections: while a
// server is down, a client that knocks at such a port could be given that very port, and talk to itself.
func freePort(tb testing.TB) int {
	tb.Helper()
	for range 100 {
		port := 15_000 + rand.IntN(10_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	tb.Fatal("no port is free")
	return 0
}
