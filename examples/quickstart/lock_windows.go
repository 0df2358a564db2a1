package main

import (
	"errors"
	"fmt"
	"syscall"
)

// lockSuffix is added to the database's name for the lock file.
const lockSuffix = ".lock"

const errSharingViolation = syscall.Errno(32)

// lock opens the file for this process alone, until it ends. It fails when another process has it.
func lock(path string) (unlock func(), err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errSharingViolation) {
		return nil, fmt.Errorf("another quickstart works on this database: it holds %s", path)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { syscall.CloseHandle(h) }, nil
}
