package engine

import (
	"bytes"
	"fmt"
	"runtime"
)

// maxStacks is how much of all goroutines' stacks is read to find one.
const maxStacks = 1 << 20

// stackOf returns the stack of one goroutine, or the empty string when it cannot be found.
func stackOf(id uint64) string {
	buf := make([]byte, maxStacks)
	buf = buf[:runtime.Stack(buf, true)]
	head := fmt.Appendf(nil, "goroutine %d ", id)
	for stack := range bytes.SplitSeq(buf, []byte("\n\n")) {
		if bytes.HasPrefix(stack, head) {
			return string(stack)
		}
	}
	return ""
}
