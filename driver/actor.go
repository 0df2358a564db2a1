package driver

import "context"

type actorKey struct{}

// WithActor returns a context that names who acts. Stores put the name into Entry.Actor of the history entries that Delete
// and Requeue add under it. An empty name is nobody.
func WithActor(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// Actor returns the name that WithActor put into ctx, or the empty string.
func Actor(ctx context.Context) string {
	name, _ := ctx.Value(actorKey{}).(string)
	return name
}
