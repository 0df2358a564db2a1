//go:build unix

package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

// chromium is the browser that all tests of a run share. Each tab is in a context of its own, with its own cookies.
var chromium struct {
	sync.Mutex
	// ctx is the browser's, nil until the first test asks for it.
	ctx  context.Context
	stop func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.stop != nil {
		chromium.stop()
	}
	os.Exit(code)
}

// find returns the path of the browser.
func find() (string, error) {
	if name := os.Getenv("KILN_CHROMIUM"); name != "" {
		return exec.LookPath(name)
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("neither chromium, chromium-browser nor google-chrome is here, and KILN_CHROMIUM names none")
}

// browser starts Chromium unless it runs already, and skips the test where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	chromium.Lock()
	defer chromium.Unlock()
	if chromium.ctx != nil {
		return chromium.ctx
	}
	if testing.Short() {
		skip(t, "-short starts no browser")
	}
	path, err := find()
	if err != nil {
		if os.Getenv("KILN_CHROMIUM") != "" {
			t.Fatalf("KILN_CHROMIUM: %v", err)
		}
		skip(t, err.Error())
	}
	ctx, stop, err := start(path)
	if err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	chromium.ctx, chromium.stop = ctx, stop
	return ctx
}

// start runs Chromium with a profile of its own. What it returns ends that process, with its children, and removes the profile.
func start(path string) (context.Context, func(), error) {
	profile, err := os.MkdirTemp("", "kiln-chromium-")
	if err != nil {
		return nil, nil, err
	}
	var process *exec.Cmd
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(profile),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			process = cmd
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		}),
	}
	for _, name := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update",
		"disable-sync", "disable-dev-shm-usage", "hide-scrollbars",
	} {
		flags = append(flags, chromedp.Flag(name, true))
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), flags...)
	ctx, closed := chromedp.NewContext(allocator)
	stop := func() {
		closed()
		end()
		if process != nil && process.Process != nil {
			_ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL) // its children, where some are left
		}
		_ = os.RemoveAll(profile)
	}
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, err
	}
	return ctx, stop, nil
}

var skipped sync.Once

// skip ends a test that needs what is not here, and says so once where it is read.
func skip(t *testing.T, reason string) {
	t.Helper()
	skipped.Do(func() {
		name := os.Getenv("KILN_SKIPS")
		if name == "" {
			return
		}
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(f, "the dashboard in a browser: %s\n", reason)
		if closed := f.Close(); err != nil || closed != nil {
			t.Fatal(err, closed)
		}
	})
	t.Skip(reason)
}
