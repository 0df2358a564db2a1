package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kilnjobs/kiln"
)

// progress draws a bar on a terminal, and nothing elsewhere.
type progress struct {
	out   io.Writer
	drawn bool
}

func newProgress(out io.Writer) *progress {
	f, ok := out.(*os.File)
	if !ok {
		return &progress{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	return &progress{out: f}
}

const barWidth = 40

// show draws how many of the jobs have ended.
func (p *progress) show(ctx context.Context, client *kiln.Client) error {
	if p.out == nil {
		return nil
	}
	n, err := client.Store().Counts(ctx)
	if err != nil {
		return err
	}
	done := n.Succeeded + n.Failed + n.Deleted
	all := max(done+n.Enqueued+n.Processing+n.Scheduled, 1)
	full := int(done * barWidth / all)
	p.drawn = true
	_, err = fmt.Fprintf(p.out, "\r[%s%s] %d of %d files", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, all)
	return err
}

// end clears the bar.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
