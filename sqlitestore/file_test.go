package sqlitestore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

// TestFileGone replaces and removes the database file under an open store.
func TestFileGone(t *testing.T) {
	for name, c := range map[string]struct {
		take func(t *testing.T, path string)
		says string
	}{
		"replaced": {func(t *testing.T, path string) {
			other := filepath.Join(filepath.Dir(path), "other.db")
			newStore(t, openPool(t, other)).Close()
			if err := os.Rename(other, path); err != nil {
				t.Fatal(err)
			}
		}, "was replaced"},
		"removed": {func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, "was removed"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			path := filepath.Join(t.TempDir(), "jobs.db")
			s := newStore(t, openPool(t, path))
			if _, err := insertOne(s, "a"); err != nil {
				t.Fatal(err)
			}
			c.take(t, path)
			_, err := s.Heartbeat(ctx, driver.ServerInfo{ID: "a"})
			if !errors.Is(err, driver.ErrGone) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("Heartbeat returns %v, want ErrGone, what happened and the path", err)
			}
			for call, err := range map[string]error{
				"Insert": second(s.Insert(ctx, plainJobs(1))),
				"Claim":  second(s.Claim(ctx, driver.ClaimQuery{Queues: []string{"a"}, Limit: 1})),
				"Counts": second(s.Counts(ctx)),
				"Now":    second(s.Now(ctx)),
				"InTx":   s.InTx(ctx, func(driver.Writer) error { return nil }),
			} {
				if !errors.Is(err, driver.ErrGone) {
					t.Errorf("%s after it returns %v, want ErrGone", call, err)
				}
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// TestFileGoneRead notices a replaced file in a read, too.
func TestFileGoneRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	s := newStore(t, openPool(t, path))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Counts(context.Background()); !errors.Is(err, driver.ErrGone) {
		t.Errorf("Counts returns %v", err)
	}
}

// TestSymlink opens a store through a link, which is no other file.
func TestSymlink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link.db")
	newStore(t, openPool(t, filepath.Join(dir, "jobs.db"))).Close()
	if err := os.Symlink(filepath.Join(dir, "jobs.db"), link); err != nil {
		t.Skip(err)
	}
	s := newStore(t, openPool(t, link))
	if _, err := insertOne(s, "a"); err != nil {
		t.Error(err)
	}
}
