package pgserver

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// PostgreSQL and PgBouncer refuse to run as root, so root runs them as one of these.
var accounts = []string{"postgres", "nobody"}

// confine lets a command run as somebody whom PostgreSQL accepts, and end when the test does, however that ends.
func confine(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return nil
	}
	uid, gid, err := account()
	if err != nil {
		return err
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return nil
}

// handOver gives a folder to the account that confine chooses.
func handOver(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	uid, gid, err := account()
	if err != nil {
		return err
	}
	return os.Chown(dir, uid, gid)
}

func account() (uid, gid int, err error) {
	for _, name := range accounts {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		if uid, err = strconv.Atoi(u.Uid); err == nil {
			gid, err = strconv.Atoi(u.Gid)
		}
		return uid, gid, err
	}
	return 0, 0, fmt.Errorf("PostgreSQL refuses to run as root, and there is no user of %v", accounts)
}
