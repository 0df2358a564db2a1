package pgserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ask returns the first column of the first row.
func ask(t *testing.T, dsn, query string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var got any
	if err := conn.QueryRow(ctx, query).Scan(&got); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return fmt.Sprint(got)
}

// TestServer stops a server in every way; what was committed is there again each time.
func TestServer(t *testing.T) {
	s := Start(t, 0, "max_connections=17")
	if got := ask(t, s.DSN("postgres"), "show max_connections"); got != "17" {
		t.Errorf("max_connections is %s", got)
	}
	for i, again := range []func(){
		func() { s.Restart(Fast) },
		func() { s.Restart(Immediate) },
		func() { s.Kill9(); s.Start() },
		func() { s.Stop(Fast); s.Stop(Fast); s.Start() },
	} {
		before := ask(t, s.DSN("postgres"), "select pg_postmaster_start_time()::text")
		table := fmt.Sprint("t", i)
		conn, err := pgx.Connect(context.Background(), s.DSN("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(context.Background(), "create table "+table+" as select 1 as n"); err != nil {
			t.Fatal(err)
		}
		again()
		if err := conn.Ping(context.Background()); err == nil {
			t.Errorf("stop %d leaves a connection alive", i)
		}
		conn.Close(context.Background())
		if after := ask(t, s.DSN("postgres"), "select pg_postmaster_start_time()::text"); after == before {
			t.Errorf("stop %d: the server has not been restarted", i)
		}
		if got := ask(t, s.DSN("postgres"), "select sum(n) from "+table); got != "1" {
			t.Errorf("stop %d: what was committed is %s", i, got)
		}
	}
	if !strings.Contains(s.Log(), "not properly shut down") {
		t.Errorf("the log does not tell of a recovery:\n%s", s.Log())
	}
}

// TestServerGoes pins that nothing is left of a server whose test is over.
func TestServerGoes(t *testing.T) {
	var s *Server
	t.Run("its test", func(t *testing.T) { s = Start(t, 0) })
	if s == nil {
		t.Skip("it was skipped, and said why")
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("its folder is there: %v", err)
	}
	if s.cmd.ProcessState == nil {
		t.Error("it still runs")
	}
}

func TestPgBouncer(t *testing.T) {
	s := Start(t, 0)
	b := StartPgBouncer(t, s.Addr(), Pooling{Size: 2, Settings: []string{"query_timeout=30"}})
	if got := ask(t, b.DSN("postgres"), "select inet_server_port()::text"); !strings.HasSuffix(s.Addr(), ":"+got) {
		t.Errorf("the server's port is %s at %s", got, s.Addr())
	}
	if BouncerVersion() == "" {
		t.Error("it has no version")
	}
}

// TestMissing pins that a test that cannot run says why, where a run of many tests repeats it.
func TestMissing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "skips")
	t.Setenv(skipsEnv, file)
	t.Run("old", func(t *testing.T) { Need(t, 7) })
	text, err := os.ReadFile(file)
	if want := "TestMissing/old: the programs of PostgreSQL 7 are not here"; err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("the reason is %q, %v", text, err)
	}
}

func TestInstalled(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"initdb": "", "postgres": "#!/bin/sh\necho 'postgres (PostgreSQL) 99.3 (Test 99.3-1)'\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(programsEnv, t.TempDir()+string(os.PathListSeparator)+dir)
	all := Installed()
	if len(all) == 0 || all[len(all)-1] != (Programs{99, "99.3", dir}) {
		t.Errorf("found %+v", all)
	}
}

func TestFreePort(t *testing.T) {
	began := time.Now()
	for range 20 {
		if p := freePort(t); p < 15_000 || p >= 25_000 {
			t.Errorf("port %d", p)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it takes %s", took)
	}
}
