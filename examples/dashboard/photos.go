package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/kilnjobs/kiln"
)

type (
	// MakeThumbnail makes a small picture of a large one.
	MakeThumbnail struct {
		SKU   string `json:"sku"`
		File  string `json:"file"`
		Width int    `json:"width"`
	}
	// PublishPhotos shows the photos of a product once all are there.
	PublishPhotos struct {
		SKU string `json:"sku"`
	}
)

func (MakeThumbnail) Kind() string { return "make_thumbnail" }
func (PublishPhotos) Kind() string { return "publish_photos" }

func (a MakeThumbnail) Title() string { return fmt.Sprintf("Thumbnail %s, %d px", a.File, a.Width) }
func (a PublishPhotos) Title() string { return "Publish photos of " + a.SKU }

// InsertOptions try a photo twice: one that cannot be read will not get better.
func (MakeThumbnail) InsertOptions() []kiln.InsertOption {
	return []kiln.InsertOption{kiln.MaxAttempts(2), kiln.Timeout(30 * time.Second)}
}

// uploadPhotos makes a batch of a product's photos. Every fourth product has one that was cut off while it was uploaded.
func (s *shop) uploadPhotos(ctx context.Context) error {
	n := s.photos.next()
	product := products[n%len(products)]
	batch := &kiln.Batch{
		Description: "Photos of " + product.Name,
		Meta:        map[string]string{"sku": product.SKU, "uploaded_by": "studio"},
	}
	for i := range 4 {
		file := fmt.Sprintf("IMG_%04d.tiff", 400+4*n+i)
		if n%4 == 1 && i == 2 {
			file = fmt.Sprintf("IMG_%04d.tiff.part", 400+4*n+i)
		}
		for _, width := range []int{160, 640} {
			batch.Add(MakeThumbnail{SKU: product.SKU, File: file, Width: width}, kiln.Tags{"sku:" + product.SKU})
		}
	}
	batch.Then(PublishPhotos{SKU: product.SKU}, kiln.Tags{"sku:" + product.SKU})
	_, err := s.client.StartBatch(ctx, batch)
	return err
}

func handlePhotos(mux *kiln.Mux) {
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[MakeThumbnail]) error {
		if err := work(ctx, between(300*time.Millisecond, 2*time.Second)); err != nil {
			return err
		}
		size := readHeader(load(j.Args.File))
		return j.SetOutput(map[string]int{"width": j.Args.Width, "height": j.Args.Width * size.height / size.width})
	}, kiln.Constant(3*time.Second))
	kiln.Handle(mux, func(ctx context.Context, j *kiln.Job[PublishPhotos]) error { return work(ctx, 500*time.Millisecond) })
}

type size struct{ width, height int }

// load returns the first bytes of a photo; of one that was cut off there are too few.
func load(file string) []byte {
	header := []byte{'I', 'I', 42, 0, 0x80, 0x0c, 0, 0, 0x60, 0x09, 0, 0}
	if len(file) > len("IMG_0000.tiff") {
		return header[:6]
	}
	return header
}

// readHeader has the mistake that makes some jobs panic: it trusts its input.
func readHeader(b []byte) size {
	return size{width: int(binary.LittleEndian.Uint32(b[4:])), height: int(binary.LittleEndian.Uint32(b[8:]))}
}
