package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/kilnjobs/kiln"
)

// kind is the kind of the program's jobs.
const kind = "checksum_file"

// ChecksumFile is the job of one file.
type ChecksumFile struct {
	// Folder is the absolute path of the folder that was given.
	Folder string `json:"folder"`
	// Path is the file's path below it.
	Path string `json:"path,omitempty"`
	// Raw stands for Path when its bytes are not UTF-8, which JSON cannot carry.
	Raw []byte `json:"raw,omitempty"`
}

func newChecksumFile(folder, path string) ChecksumFile {
	if utf8.ValidString(path) {
		return ChecksumFile{Folder: folder, Path: path}
	}
	return ChecksumFile{Folder: folder, Raw: []byte(path)}
}

// Kind names the handler.
func (ChecksumFile) Kind() string { return kind }

// Title is what people see for the job.
func (c ChecksumFile) Title() string { return c.path() }

// InsertOptions lets a file that cannot be read be tried a few times.
func (ChecksumFile) InsertOptions() []kiln.InsertOption {
	return []kiln.InsertOption{kiln.MaxAttempts(3), kiln.NoTimeout}
}

// retries are the waits between the tries.
var retries = kiln.Delays(200*time.Millisecond, time.Second)

func (c ChecksumFile) path() string {
	if len(c.Raw) > 0 {
		return string(c.Raw)
	}
	return c.Path
}

// Checksum is what a job finds out.
type Checksum struct {
	Bytes  int64  `json:"bytes"`
	Lines  int64  `json:"lines"`
	SHA256 string `json:"sha256"`
}

func checksumFile(ctx context.Context, j *kiln.Job[ChecksumFile]) error {
	sum, err := checksum(ctx, filepath.Join(j.Args.Folder, j.Args.path()))
	if err != nil {
		return err
	}
	return j.SetOutput(sum)
}

// checksum reads a file. A last line without a newline counts.
func checksum(ctx context.Context, path string) (Checksum, error) {
	f, err := os.Open(path)
	if err != nil {
		return Checksum{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return Checksum{}, err
	} else if !info.Mode().IsRegular() {
		return Checksum{}, fmt.Errorf("%s is not a regular file any more", path)
	}
	var sum Checksum
	hash := sha256.New()
	buf := make([]byte, 64<<10)
	last := byte('\n')
	for {
		if err := context.Cause(ctx); err != nil {
			return Checksum{}, err
		}
		n, err := f.Read(buf)
		if n > 0 {
			hash.Write(buf[:n])
			sum.Bytes += int64(n)
			sum.Lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
			last = buf[n-1]
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return Checksum{}, err
		}
	}
	if last != '\n' {
		sum.Lines++
	}
	sum.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return sum, nil
}
