//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockSuffix is added to the database's name for the lock file.
const lockSuffix = ".lock"

// lock takes the file's lock, which ends with the process however that ends. It fails when another process has it.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another quickstart works on this database: it holds %s", path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
