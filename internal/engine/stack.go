package engine

import (
	"bytes"
	"fmt"
	"runtime"
)

// maxStacks is how much of all goroutines' stacks is read to find one.
const maxStacks = 1 << 20

// allStacks returns the stacks of all goroutines, which stops the program for a moment.
func allStacks() []byte {
	buf := make([]byte, maxStacks)
	return buf[:runtime.Stack(buf, true)]
}

// stackOf returns the stack of one goroutine, or the empty string when it is not among all.
func stackOf(id uint64, all []byte) string {
	head := fmt.Appendf(nil, "goroutine %d ", id)
	for stack := range bytes.SplitSeq(all, []byte("\n\n")) {
		if bytes.HasPrefix(stack, head) {
			return string(stack)
		}
	}
	return ""
}
