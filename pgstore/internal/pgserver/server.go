package pgserver

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a PostgreSQL server that a test may stop and kill. Its superuser is postgres, without a password.
type Server struct {
	process
	programs Programs
	port     int
	settings []string
}

// Start starts a server of a major version, with settings such as "max_connections=20", until the test ends. Version 0 is the
// preferred one. Without the programs the test is skipped.
func Start(tb testing.TB, major int, settings ...string) *Server {
	tb.Helper()
	if testing.Short() {
		tb.Skip("the short form starts no servers")
	}
	s := &Server{process: process{tb: tb}, programs: Need(tb, major), settings: settings}
	s.dir = folder(tb)
	init := s.command(filepath.Join(s.programs.Dir, "initdb"), "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
	if said, err := init.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, said)
	}
	tb.Cleanup(func() { s.end(syscall.SIGQUIT) })
	s.port = freePort(tb)
	s.Start()
	return s
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Programs says which version it is.
func (s *Server) Programs() Programs { return s.programs }

// Addr is the host and port that it listens on.
func (s *Server) Addr() string { return fmt.Sprint("127.0.0.1:", s.port) }

// DSN is the connection string of a database for the superuser.
func (s *Server) DSN(database string) string { return dsn(s.Addr(), "postgres", database) }

// DSNFor is the connection string of a database for a role.
func (s *Server) DSNFor(role, database string) string { return dsn(s.Addr(), role, database) }

func dsn(addr, role, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(role), Host: addr, Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Start starts the server again after a stop. A server that was killed leaves children that hold on to its memory for a moment,
// so it may take several tries.
func (s *Server) Start() {
	s.tb.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := s.try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.tb.Fatalf("%v\n%s", err, s.tail())
		}
		<-time.After(50 * time.Millisecond)
	}
}

func (s *Server) try() error {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-k", s.dir}
	// What is written is safe from the end of the server without being flushed to the disk; only the machine must not crash.
	for _, setting := range append([]string{"listen_addresses=127.0.0.1", "fsync=off", "logging_collector=off"}, s.settings...) {
		args = append(args, "-c", setting)
	}
	if err := s.launch(s.command(filepath.Join(s.programs.Dir, "postgres"), args...)); err != nil {
		return err
	}
	return s.poll(s.ready)
}

func (s *Server) pidFile() string { return filepath.Join(s.data(), "postmaster.pid") }

// ready reads the line that pg_ctl waits for too. A server that was killed leaves such a file with another process in it, by which
// the next one finds out whether children still run, so it stays.
func (s *Server) ready() bool {
	text, err := os.ReadFile(s.pidFile())
	lines := strings.Split(string(text), "\n")
	return err == nil && len(lines) > 7 && lines[0] == strconv.Itoa(s.cmd.Process.Pid) && strings.TrimSpace(lines[7]) == "ready"
}

// Shutdown is a way to stop a server.
type Shutdown int

// The ways to stop a server, as pg_ctl names them.
const (
	Fast      Shutdown = iota // rolls open transactions back and closes all connections
	Immediate                 // ends at once and recovers at the next start
)

// Stop stops the server as pg_ctl stop does.
func (s *Server) Stop(how Shutdown) {
	s.tb.Helper()
	if how == Immediate {
		s.end(syscall.SIGQUIT)
	} else {
		s.end(syscall.SIGINT)
	}
}

// Restart stops the server and starts it again, as pg_ctl restart does.
func (s *Server) Restart(how Shutdown) {
	s.tb.Helper()
	s.Stop(how)
	s.Start()
}

// Kill9 kills the postmaster without a warning; the next start recovers.
func (s *Server) Kill9() {
	s.tb.Helper()
	s.end(os.Kill)
}

// Standby lets the next start be that of a standby, which takes no writes, without a primary.
func (s *Server) Standby() {
	s.tb.Helper()
	if err := os.WriteFile(filepath.Join(s.data(), "standby.signal"), nil, 0o644); err != nil {
		s.tb.Fatal(err)
	}
}
