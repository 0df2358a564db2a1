package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// onPostgres is the server that -postgres names.
var onPostgres = &postgres{url: "postgres://postgres@127.0.0.1:5432/postgres"}

// postgres makes a database for each round.
type postgres struct {
	url  string
	made atomic.Int64
}

func (*postgres) name() string      { return "postgres" }
func (*postgres) reference() string { return "kiln-postgres" }
func (*postgres) close() error      { return nil }

// postgresSettings are those without which figures of two servers cannot be compared.
var postgresSettings = []string{
	"synchronous_commit", "fsync", "wal_sync_method", "full_page_writes", "wal_compression", "wal_level", "shared_buffers",
	"max_wal_size", "checkpoint_timeout", "autovacuum", "jit",
}

func (p *postgres) describe(ctx context.Context) ([]string, error) {
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	var version string
	if err := conn.QueryRow(ctx, "select current_setting('server_version')").Scan(&version); err != nil {
		return nil, err
	}
	settings := make([]string, len(postgresSettings))
	for i, name := range postgresSettings {
		var value string
		if err := conn.QueryRow(ctx, "select current_setting($1)", name).Scan(&value); err != nil {
			return nil, err
		}
		settings[i] = name + "=" + value
	}
	return []string{"PostgreSQL " + version, "  " + strings.Join(settings, ", ")}, nil
}

func (p *postgres) place(ctx context.Context) (place, error) {
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("kiln_bench_%d_%d", os.Getpid(), p.made.Add(1))
	// template0 has no connections that would keep it from being copied.
	if _, err := conn.Exec(ctx, "create database "+name+" template template0"); err != nil {
		conn.Close(ctx)
		return nil, fmt.Errorf("-postgres has to name a server and a role that may create databases: %w", err)
	}
	d := &database{name: name, owner: conn}
	if d.url, err = withDatabase(p.url, name); err == nil {
		err = d.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, d.remove(ctx))
	}
	return d, nil
}

func withDatabase(address, name string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return "", errors.New("-postgres: want a URL such as postgres://postgres@127.0.0.1:5432/postgres")
	}
	u.Path = "/" + name
	return u.String(), nil
}

// database is a database of one round.
type database struct {
	name, url string
	// owner is connected to the server's own database, and creates and drops this one.
	owner *pgx.Conn
	// watch is connected to this one and looks after it, beside the system that is measured.
	watch *pgx.Conn
}

// prepare begins the round with a checkpoint, so that none of the rounds before makes one due in the middle of it.
func (d *database) prepare(ctx context.Context) (err error) {
	if d.watch, err = pgx.Connect(ctx, d.url); err != nil {
		return err
	}
	if _, err = d.watch.Exec(ctx, "create table bench_commit (id bigserial primary key)"); err != nil {
		return err
	}
	if _, err = d.watch.Exec(ctx, "checkpoint"); err != nil {
		return fmt.Errorf("the role of -postgres has to be allowed to run CHECKPOINT: %w", err)
	}
	return nil
}

func (d *database) address() string { return d.url }

func (d *database) settle(ctx context.Context) error {
	_, err := d.watch.Exec(ctx, "vacuum analyze")
	return err
}

func (d *database) commit(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	_, err := d.watch.Exec(ctx, "insert into bench_commit default values")
	return time.Since(begin), err
}

// pin leaves a transaction open that has a snapshot and does nothing.
func (d *database) pin(ctx context.Context) (release func() error, err error) {
	conn, err := pgx.Connect(ctx, d.url)
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{"begin isolation level repeatable read", "select count(*) from bench_commit"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			conn.Close(ctx)
			return nil, err
		}
	}
	return func() error { return conn.Close(context.WithoutCancel(ctx)) }, nil
}

func (d *database) size(ctx context.Context) (bytes int64, err error) {
	err = d.watch.QueryRow(ctx, "select pg_database_size(current_database())").Scan(&bytes)
	return bytes, err
}

func (d *database) remove(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if d.watch != nil {
		d.watch.Close(ctx)
	}
	_, err := d.owner.Exec(ctx, "drop database "+d.name+" with (force)")
	return errors.Join(err, d.owner.Close(ctx))
}

// meter adds up what the backends of this database have used. A backend that ends meanwhile is not seen, so it is read while the
// system that is measured is still connected. The log is the whole server's.
func (d *database) meter(ctx context.Context) (func(context.Context) (spent, error), error) {
	before, from, err := d.used(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (spent, error) {
		after, to, err := d.used(ctx)
		s := spent{cpu: unknown, log: to - from}
		if before != nil && after != nil {
			s.cpu = 0
		}
		for pid, used := range after {
			s.cpu += used - before[pid]
		}
		return s, err
	}, nil
}

// used reads the CPU time of each backend from this machine's /proc, nil when the server is on another machine, and the end of
// the log.
func (d *database) used(ctx context.Context) (cpu map[int]time.Duration, log int64, err error) {
	var local bool
	var pids []int
	err = d.watch.QueryRow(ctx, `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,
		inet_client_addr() is not distinct from inet_server_addr(),
		array(select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid())`).Scan(&log, &local, &pids)
	if err != nil || !local {
		return nil, log, err
	}
	cpu = make(map[int]time.Duration, len(pids))
	for _, pid := range pids {
		used, err := processTime(pid)
		if errors.Is(err, os.ErrNotExist) {
			continue // it has just ended
		}
		if err != nil {
			return nil, 0, err
		}
		cpu[pid] = used
	}
	return cpu, log, nil
}

// processTime is how long a process of one thread has been on a CPU.
func processTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return 0, err
	}
	var ns int64
	_, err = fmt.Sscan(string(b), &ns)
	return time.Duration(ns), err
}
