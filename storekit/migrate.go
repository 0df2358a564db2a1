package storekit

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/kilnjobs/kiln/driver"
)

// Migration is one step of a store's schema. Once released it never changes.
type Migration struct {
	// Version is its place, counted from 1.
	Version int
	// Name is the rest of its file's name, as in 001_name.sql.
	Name string
	// SQL is the file's text with the prefix filled in.
	SQL string
}

// String is the migration's file name without the extension.
func (m Migration) String() string { return fmt.Sprintf("%03d_%s", m.Version, m.Name) }

// Schema is a place that migrations are applied to. The store holds its lock and its transaction around both calls.
type Schema interface {
	// Version is the highest version applied, 0 on an empty database.
	Version(ctx context.Context) (int, error)
	// Apply runs the migration and records its version.
	Apply(ctx context.Context, m Migration) error
}

// Migrator brings a schema to the version that the program knows.
type Migrator struct {
	migrations []Migration
}

// ParseMigrations reads the files NNN_name.sql of one folder. Versions begin at 1 and leave no gap. PrefixMark is replaced by
// prefix.
func ParseMigrations(fsys fs.FS, dir, prefix string) (Migrator, error) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.sql"))
	if err != nil {
		return Migrator{}, err
	}
	if len(files) == 0 {
		return Migrator{}, fmt.Errorf("storekit: no migrations in %q", dir)
	}
	var m Migrator
	for i, file := range files { // Glob sorts, and numbers have three digits
		number, name, ok := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if !ok || err != nil || len(number) != 3 || !validName(name) {
			return Migrator{}, fmt.Errorf("storekit: migration %s is not named NNN_name.sql", file)
		}
		if version != i+1 {
			return Migrator{}, fmt.Errorf("storekit: migration %s should have the number %03d", file, i+1)
		}
		b, err := fs.ReadFile(fsys, file)
		if err != nil {
			return Migrator{}, err
		}
		m.migrations = append(m.migrations, Migration{
			Version: version, Name: name, SQL: strings.ReplaceAll(string(b), PrefixMark, prefix),
		})
	}
	return m, nil
}

// Migrations lists the steps in order.
func (m Migrator) Migrations() []Migration { return append([]Migration(nil), m.migrations...) }

// Latest is the version that the program knows.
func (m Migrator) Latest() int { return len(m.migrations) }

// Migrate applies what the schema lacks, in order, and returns how many steps it applied. A schema that is newer than the
// program is refused with ErrInvalid and left alone.
func (m Migrator) Migrate(ctx context.Context, s Schema) (int, error) {
	version, err := s.Version(ctx)
	if err != nil {
		return 0, err
	}
	if err := m.refuseNewer(version); err != nil {
		return 0, err
	}
	applied := 0
	for _, step := range m.migrations[version:] {
		if err := s.Apply(ctx, step); err != nil {
			return applied, fmt.Errorf("migration %s: %w", step, err)
		}
		applied++
	}
	return applied, nil
}

// Check is for a store that must not migrate: it fails with ErrInvalid, and says what to run, unless the schema has exactly
// the version that the program knows.
func (m Migrator) Check(version int, run string) error {
	if err := m.refuseNewer(version); err != nil {
		return err
	}
	if version < m.Latest() {
		missing := make([]string, 0, m.Latest()-version)
		for _, step := range m.migrations[version:] {
			missing = append(missing, step.String())
		}
		return fmt.Errorf("%w: schema version %d is older than version %d of this program; missing: %s; run %s first",
			driver.ErrInvalid, version, m.Latest(), strings.Join(missing, ", "), run)
	}
	return nil
}

func (m Migrator) refuseNewer(version int) error {
	if version < 0 || version > m.Latest() {
		return fmt.Errorf("%w: schema version %d is newer than version %d, the latest that this program knows; upgrade the program",
			driver.ErrInvalid, version, m.Latest())
	}
	return nil
}
