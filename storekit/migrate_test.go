package storekit

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

// fakeSchema records what is applied, and fails at one version.
type fakeSchema struct {
	version, failAt int
	applied         []string
}

func (f *fakeSchema) Version(context.Context) (int, error) { return f.version, nil }

func (f *fakeSchema) Apply(_ context.Context, m Migration) error {
	if m.Version == f.failAt {
		return errors.New("no space")
	}
	f.version = m.Version
	f.applied = append(f.applied, m.SQL)
	return nil
}

func twoSteps(t *testing.T) Migrator {
	t.Helper()
	m, err := ParseMigrations(files("m/001_start.sql", "create {prefix}a", "m/002_more.sql", "alter {prefix}a"), "m", "x_")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMigrate(t *testing.T) {
	m, ctx := twoSteps(t), context.Background()
	s := &fakeSchema{}
	if n, err := m.Migrate(ctx, s); n != 2 || err != nil {
		t.Fatalf("fresh: %d, %v", n, err)
	}
	if got := strings.Join(s.applied, ";"); got != "create x_a;alter x_a" {
		t.Errorf("applied %q", got)
	}
	if n, err := m.Migrate(ctx, s); n != 0 || err != nil {
		t.Errorf("repeated: %d, %v", n, err)
	}
	s = &fakeSchema{version: 1}
	if n, err := m.Migrate(ctx, s); n != 1 || err != nil || s.applied[0] != "alter x_a" {
		t.Errorf("from 1: %d, %v, %v", n, err, s.applied)
	}
	s = &fakeSchema{failAt: 2}
	if n, err := m.Migrate(ctx, s); n != 1 || err == nil || !strings.Contains(err.Error(), "002_more") {
		t.Errorf("failing step: %d, %v", n, err)
	}
	s = &fakeSchema{version: 3}
	if _, err := m.Migrate(ctx, s); !errors.Is(err, driver.ErrInvalid) || len(s.applied) != 0 {
		t.Errorf("newer schema: %v, applied %v", err, s.applied)
	}
}

func TestMigratorCheck(t *testing.T) {
	m := twoSteps(t)
	if err := m.Check(2, "Migrate"); err != nil {
		t.Errorf("latest: %v", err)
	}
	err := m.Check(1, "store.Migrate")
	if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "002_more") || !strings.Contains(err.Error(), "store.Migrate") {
		t.Errorf("older: %v, want the missing step and what to run", err)
	}
	if err := m.Check(3, "Migrate"); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "newer") {
		t.Errorf("newer: %v", err)
	}
}

func TestParseMigrationsErrors(t *testing.T) {
	for _, names := range [][]string{{"m/002_a.sql"}, {"m/001_a.sql", "m/003_b.sql"}, {"m/1_a.sql"}, {"m/001.sql"}, {"m/001_a.sql", "m/001_b.sql"}, {}} {
		fsys := files()
		for _, n := range names {
			fsys[n] = files("x", "select 1")["x"]
		}
		if _, err := ParseMigrations(fsys, "m", ""); err == nil {
			t.Errorf("%v parse without an error", names)
		}
	}
}
