package storekit

import "slices"

// Packer copies small values into blocks that they share, so that a claimed job costs no allocation for its args. Blocks are small,
// since one that is in use keeps all of it. The zero value is ready.
type Packer struct{ block []byte }

const packedBlock = 16 << 10

// Keep returns a copy of b.
func (p *Packer) Keep(b []byte) []byte {
	if len(b) > packedBlock/4 {
		return slices.Clone(b)
	}
	if len(p.block)+len(b) > cap(p.block) {
		p.block = make([]byte, 0, packedBlock)
	}
	at := len(p.block)
	p.block = append(p.block, b...)
	return p.block[at:len(p.block):len(p.block)]
}
