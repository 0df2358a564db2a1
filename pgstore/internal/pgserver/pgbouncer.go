package pgserver

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bouncerEnv names the program where it is not in the usual places.
const bouncerEnv = "KILN_PGBOUNCER"

// PgBouncer is a pooler in front of a server.
type PgBouncer struct {
	process
	port int
}

// Pooling is how a PgBouncer is set.
type Pooling struct {
	// Mode is its pool_mode, transaction when it is empty.
	Mode string
	// MaxPrepared is max_prepared_statements, which PgBouncer has since 1.21; 0 leaves it out.
	MaxPrepared int
	// Size is default_pool_size, 20 when it is 0.
	Size int
	// Roles are the roles that may connect, postgres when there are none.
	Roles []string
	// Settings are further lines of its section, such as "server_reset_query_always=1".
	Settings []string
}

// BouncerVersion is the version of the PgBouncer that is here, empty when there is none.
func BouncerVersion() string {
	program, ok := bouncer()
	if !ok {
		return ""
	}
	said, err := exec.Command(program, "--version").Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(said), "\n")
	return strings.TrimPrefix(line, "PgBouncer ")
}

func bouncer() (string, bool) {
	if name := os.Getenv(bouncerEnv); name != "" {
		return name, true
	}
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

// StartPgBouncer starts a pooler for all databases of a server, at an address that may be that of a proxy, until the test ends.
// Without the program the test is skipped.
func StartPgBouncer(tb testing.TB, addr string, p Pooling) *PgBouncer {
	tb.Helper()
	program, ok := bouncer()
	if !ok {
		skip(tb, "PgBouncer is not here; install it (Debian: pgbouncer), or %s may name it", bouncerEnv)
	}
	b := &PgBouncer{process: process{tb: tb, dir: folder(tb)}, port: freePort(tb)}
	b.write("users.txt", users(p.Roles))
	b.write("pgbouncer.ini", b.config(addr, p))
	tb.Cleanup(func() { b.end(syscall.SIGTERM) })
	err := b.launch(b.command(program, filepath.Join(b.dir, "pgbouncer.ini")))
	if err == nil {
		err = b.poll(b.ready)
	}
	if err != nil {
		tb.Fatalf("%v\n%s", err, b.tail())
	}
	return b
}

func users(roles []string) string {
	if len(roles) == 0 {
		roles = []string{"postgres"}
	}
	text := ""
	for _, role := range roles {
		text += fmt.Sprintf("%q \"\"\n", role)
	}
	return text
}

func (b *PgBouncer) config(addr string, p Pooling) string {
	b.tb.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		b.tb.Fatal(err)
	}
	if p.Mode == "" {
		p.Mode = "transaction"
	}
	if p.Size == 0 {
		p.Size = 20
	}
	lines := []string{
		"[databases]", fmt.Sprintf("* = host=%s port=%s", host, port),
		"[pgbouncer]", "listen_addr=127.0.0.1", fmt.Sprint("listen_port=", b.port), "unix_socket_dir=",
		"auth_type=trust", "auth_file=" + filepath.Join(b.dir, "users.txt"), "admin_users=postgres",
		"pool_mode=" + p.Mode, fmt.Sprint("default_pool_size=", p.Size), "max_client_conn=500", "server_login_retry=1",
	}
	if p.MaxPrepared > 0 {
		lines = append(lines, fmt.Sprint("max_prepared_statements=", p.MaxPrepared))
	}
	return strings.Join(append(lines, p.Settings...), "\n") + "\n"
}

func (b *PgBouncer) write(name, text string) {
	b.tb.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
		b.tb.Fatal(err)
	}
}

func (b *PgBouncer) ready() bool {
	conn, err := net.DialTimeout("tcp", b.Addr(), time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// Addr is the host and port that it listens on.
func (b *PgBouncer) Addr() string { return fmt.Sprint("127.0.0.1:", b.port) }

// DSN is the connection string of a database for postgres.
func (b *PgBouncer) DSN(database string) string { return dsn(b.Addr(), "postgres", database) }

// DSNFor is the connection string of a database for a role.
func (b *PgBouncer) DSNFor(role, database string) string { return dsn(b.Addr(), role, database) }
