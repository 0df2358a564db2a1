package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// onRedis is a server of its own, or the one that -redis names.
var onRedis = &redisServer{}

// redisServer hands out one empty database of a Redis server, to one round after the other.
type redisServer struct {
	// url names the server and the database. Without one a private server is started.
	url     string
	private *exec.Cmd
	dir     string
}

func (*redisServer) name() string      { return "redis" }
func (*redisServer) reference() string { return "kiln-postgres" }

func (s *redisServer) describe(ctx context.Context) ([]string, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	server, err := info(ctx, client, "server")
	if err != nil {
		return nil, err
	}
	settings, err := client.ConfigGet(ctx, "append*").Result()
	if err != nil {
		return nil, err
	}
	whose := "named by -redis"
	if s.private != nil {
		whose = "private"
	}
	return []string{fmt.Sprintf("Redis %s, %s, appendonly=%s, appendfsync=%s: what it acknowledges is not durable yet",
		server["redis_version"], whose, settings["appendonly"], settings["appendfsync"])}, nil
}

// start starts the private server, on a port that was free a moment ago.
func (s *redisServer) start(ctx context.Context) (err error) {
	if s.url != "" {
		return nil
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	free.Close()
	if s.dir, err = os.MkdirTemp("", "kiln-bench-redis-"); err != nil {
		return err
	}
	s.private = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", s.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--logfile", filepath.Join(s.dir, "log"))
	if err := s.private.Start(); err != nil {
		s.private = nil
		return errors.Join(fmt.Errorf("install redis-server, or name a server with -redis: %w", err), s.close())
	}
	s.url = "redis://127.0.0.1:" + port + "/0"
	return s.answers(ctx)
}

func (s *redisServer) answers(ctx context.Context) error {
	client, err := s.client()
	if err != nil {
		return err
	}
	defer client.Close()
	for deadline := time.Now().Add(10 * time.Second); ; {
		err := client.Ping(ctx).Err()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-time.After(5 * time.Millisecond)
	}
}

func (s *redisServer) client() (*redis.Client, error) {
	options, err := redis.ParseURL(s.url)
	if err != nil {
		return nil, fmt.Errorf("-redis: want a URL such as redis://127.0.0.1:6379/9: %w", err)
	}
	return redis.NewClient(options), nil
}

func (s *redisServer) place(ctx context.Context) (place, error) {
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	keys, err := client.DBSize(ctx).Result()
	if err == nil && keys > 0 {
		err = fmt.Errorf("the Redis database that -redis names has %d keys: it has to be empty, since rounds empty it", keys)
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	return &redisPlace{url: s.url, client: client}, nil
}

func (s *redisServer) close() error {
	if s.private != nil {
		s.private.Process.Kill()
		s.private.Wait()
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// redisPlace is the database as one round has it.
type redisPlace struct {
	url    string
	client *redis.Client
}

func (p *redisPlace) address() string            { return p.url }
func (*redisPlace) settle(context.Context) error { return nil }

// remove removes the round's keys: those that Asynq made, since the database was empty before.
func (p *redisPlace) remove(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var keys []string
	found := p.client.Scan(ctx, 0, "asynq*", 1000).Iterator()
	for found.Next(ctx) {
		keys = append(keys, found.Val())
	}
	err := found.Err()
	for len(keys) > 0 && err == nil {
		part := keys[:min(len(keys), 1000)]
		err = p.client.Unlink(ctx, part...).Err()
		keys = keys[len(part):]
	}
	return errors.Join(err, p.client.Close())
}

// meter reads the server's own accounts. The log is unknown when it was rewritten meanwhile.
func (p *redisPlace) meter(ctx context.Context) (func(context.Context) (spent, error), error) {
	before, err := p.used(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (spent, error) {
		after, err := p.used(ctx)
		s := spent{cpu: after.cpu - before.cpu, log: after.log - before.log}
		if s.log <= 0 {
			s.log = unknown
		}
		return s, err
	}, nil
}

func (p *redisPlace) used(ctx context.Context) (spent, error) {
	cpu, err := info(ctx, p.client, "cpu")
	if err != nil {
		return spent{}, err
	}
	var s spent
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(cpu[field], 64)
		if err != nil {
			return s, fmt.Errorf("INFO cpu of the Redis server: %s: %w", field, err)
		}
		s.cpu += time.Duration(seconds * float64(time.Second))
	}
	log, err := info(ctx, p.client, "persistence")
	if err != nil || log["aof_enabled"] != "1" {
		return s, err
	}
	// While a slow disk syncs the file, what is next for it stays in the buffer.
	for _, field := range []string{"aof_current_size", "aof_buffer_length"} {
		bytes, err := strconv.ParseInt(log[field], 10, 64)
		if err != nil {
			return s, fmt.Errorf("INFO persistence of the Redis server: %s: %w", field, err)
		}
		s.log += bytes
	}
	return s, nil
}

// info reads a section of what the server says about itself.
func info(ctx context.Context, client *redis.Client, section string) (map[string]string, error) {
	text, err := client.Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}
