package pgserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// programsEnv lists folders with initdb and postgres, each of one version, in the form of PATH.
const programsEnv = "KILN_POSTGRES_BIN"

// usual are the folders that packages install PostgreSQL in.
var usual = []string{
	"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
}

// Preferred is the major version that tests run on which do not care.
const Preferred = 15

// Programs is where the programs of one version are.
type Programs struct {
	// Major is the major version.
	Major int
	// Full is the whole version, such as 15.8.
	Full string
	// Dir is the folder with initdb and postgres.
	Dir string
}

// Installed lists the versions that can be started here, oldest first, one of each major version.
func Installed() []Programs {
	dirs := filepath.SplitList(os.Getenv(programsEnv))
	for _, pattern := range usual {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	var all []Programs
	for _, dir := range dirs {
		p, ok := look(dir)
		if ok && !slices.ContainsFunc(all, func(q Programs) bool { return q.Major == p.Major }) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Programs) int { return a.Major - b.Major })
	return all
}

var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) ((\d+)[.\w]*)`)

func look(dir string) (Programs, bool) {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return Programs{}, false
	}
	said, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output()
	m := versionLine.FindStringSubmatch(string(said))
	if err != nil || m == nil {
		return Programs{}, false
	}
	major, err := strconv.Atoi(m[2])
	return Programs{Major: major, Full: m[1], Dir: dir}, err == nil
}

// Need returns the programs of a major version, of the preferred or else the newest one when it is 0. It skips the test when
// they are not here.
func Need(tb testing.TB, major int) Programs {
	tb.Helper()
	all := Installed()
	i := slices.IndexFunc(all, func(p Programs) bool { return p.Major == major || major == 0 && p.Major == Preferred })
	if i < 0 && major == 0 {
		i = len(all) - 1
	}
	if i < 0 {
		what := "PostgreSQL"
		if major != 0 {
			what = fmt.Sprint("PostgreSQL ", major)
		}
		skip(tb, "the programs of %s are not here; %s may name their folder", what, programsEnv)
	}
	return all[i]
}
