package driver

import "errors"

// ErrUnknown says that a write may have happened or not: the answer to its commit was lost, or its caller left while it was
// being written. It is the only error after which jobs of an Insert may exist, then all of them; whoever inserts again may
// have them twice. The writes of servers are safe to repeat.
var ErrUnknown = errors.New("kiln: result unknown")
