package memstore

import (
	"context"
	"time"
)

// lease is who leads, since when, and until when.
type lease struct {
	holder         string
	since, expires time.Time
}

// Now implements driver.Coordinator.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	now, err := s.lock(ctx)
	if err != nil {
		return time.Time{}, err
	}
	s.mu.Unlock()
	return now, nil
}

// Lead implements driver.Coordinator.
func (s *Store) Lead(ctx context.Context, name, holder string, ttl time.Duration) (held time.Duration, ok bool, err error) {
	now, err := s.lock(ctx)
	if err != nil {
		return 0, false, err
	}
	defer s.mu.Unlock()
	l, live := s.leases[name]
	live = live && l.expires.After(now)
	if live && l.holder != holder {
		return 0, false, nil
	}
	if !live {
		l = lease{holder: holder, since: now}
	}
	l.expires = now.Add(ttl)
	s.leases[name] = l
	return max(now.Sub(l.since), 0), true, nil
}

// Resign implements driver.Coordinator.
func (s *Store) Resign(ctx context.Context, name, holder string) error {
	if _, err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.leases[name].holder == holder {
		delete(s.leases, name)
	}
	return nil
}
