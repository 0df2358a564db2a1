//go:build unix

package browser

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func text(id int64) string { return strconv.FormatInt(id, 10) }

// screens are the devices that pages are looked at on.
var screens = []struct {
	name          string
	width, height int64
	phone         bool
}{
	{"desktop", 1280, 900, false},
	{"phone", 360, 740, true},
}

// on makes the tab a device's.
func (p *tab) on(width, height int64, phone bool) {
	p.Helper()
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: phone,
	})
}

// prefer makes the system's theme light or dark.
func (p *tab) prefer(theme string) {
	p.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
}

// shot writes what the tab shows, in full length, to the folder KILN_SHOTS.
func (p *tab) shot(name string) {
	p.Helper()
	dir := os.Getenv("KILN_SHOTS")
	if dir == "" {
		return
	}
	png, err := get(p, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		p.Fatalf("screenshot %s: %v", name, err)
	}
}

// TestEveryPage opens every page in both themes on both devices: none complains, and none is wider than its screen.
func TestEveryPage(t *testing.T) {
	r := newRig(t)
	r.work()
	pages := r.seed().pages()
	p := open(t, r.root)
	p.alarm.expect("404") // one of the pages is of a job that does not exist
	for _, screen := range screens {
		p.on(screen.width, screen.height, screen.phone)
		for _, theme := range []string{"light", "dark"} {
			p.prefer(theme)
			for _, name := range slices.Sorted(maps.Keys(pages)) {
				p.visit(pages[name])
				p.sees("main h1")
				if wide := eval[int64](p, "document.documentElement.scrollWidth"); wide > screen.width {
					p.Errorf("%s is %d px wide on a screen of %d", pages[name], wide, screen.width)
				}
				p.shot(name + "-" + theme + "-" + screen.name)
			}
		}
	}
}
