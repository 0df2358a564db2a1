package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"
)

// childEnv makes the program one worker process of the scenario with two: its value is the system's name and the folder.
const (
	childEnv    = "KILN_BENCH_CHILD"
	childDirEnv = "KILN_BENCH_DIR"
)

// child works on a database that is there, from the word go until its input ends, and says every few milliseconds how many jobs it
// has run.
func child(name string) error {
	ctx := context.Background()
	sys := pick(systems, name, false)[0]
	inst, err := sys.open(ctx, os.Getenv(childDirEnv))
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	fmt.Println("ready")
	in.Scan()
	var ran atomic.Int64
	stop, err := inst.work(ctx, 50, func(int64) { ran.Add(1) })
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { in.Scan(); close(ended) }()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		fmt.Println(ran.Load())
		select {
		case <-ended:
			if err := stop(); err != nil {
				return err
			}
			return inst.close()
		case <-tick.C:
		}
	}
}

// process is a worker process as its parent sees it.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	ready chan struct{}
	ran   atomic.Int64
}

func startProcess(sys, dir string) (*process, error) {
	p := &process{cmd: exec.Command(os.Args[0]), ready: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childEnv+"="+sys, childDirEnv+"="+dir, "KILN_BENCH_SYNCHRONOUS="+synchronous)
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in = in
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Scan()
		close(p.ready)
		for lines.Scan() {
			n, _ := strconv.ParseInt(lines.Text(), 10, 64)
			p.ran.Store(n)
		}
	}()
	return p, nil
}

// drainByProcesses lets so many processes work through what is there.
func (r *round) drainByProcesses(n, count int) ([]float64, error) {
	var all []*process
	for range count {
		p, err := startProcess(r.sys.name, r.dir)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	for _, p := range all {
		<-p.ready
	}
	begin := time.Now()
	for _, p := range all {
		fmt.Fprintln(p.in, "go")
	}
	for {
		ran := int64(0)
		for _, p := range all {
			ran += p.ran.Load()
		}
		if ran >= int64(n) {
			break
		}
		if time.Since(begin) > 5*time.Minute {
			return nil, fmt.Errorf("%d of %d jobs after five minutes", ran, n)
		}
		<-time.After(time.Millisecond)
	}
	took := time.Since(begin)
	for _, p := range all {
		p.in.Close()
		if err := p.cmd.Wait(); err != nil {
			return nil, err
		}
	}
	return []float64{float64(n) / took.Seconds()}, nil
}
