package tree

import (
	"io"
	"math/rand/v2"
	"sync"

	crand "crypto/rand"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// The character devices that a sandbox has, by major<<8 | minor (Linux devices.txt).
const (
	devNull    = 1<<8 | 3
	devZero    = 1<<8 | 5
	devFull    = 1<<8 | 7
	devRandom  = 1<<8 | 8
	devURandom = 1<<8 | 9
)

// openDevice opens a character device; one that a sandbox does not have, /dev/tty too, is ENXIO.
func (w *Work) openDevice(in *Inode) (vfs.File, vfs.Errno) {
	d := &device{stat: in.stat(), rdev: in.Rdev}
	switch in.Rdev {
	case devNull, devZero, devFull:
	case devRandom, devURandom:
		var seed [32]byte
		_, _ = crand.Read(seed[:]) // never fails
		d.random = rand.NewChaCha8(seed)
	default:
		return nil, vfs.ENXIO
	}
	return d, 0
}

// device is an open character device.
type device struct {
	stat   vfs.Stat
	rdev   uint32
	mu     sync.Mutex // of random
	random *rand.ChaCha8
}

func (d *device) Read(p []byte) (int, error) {
	switch {
	case d.rdev == devNull && len(p) > 0:
		return 0, io.EOF
	case d.random != nil:
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.random.Read(p)
	}
	clear(p)
	return len(p), nil
}

func (d *device) ReadAt(p []byte, _ int64) (int, error) { return d.Read(p) }

func (d *device) Write(p []byte) (int, error) {
	if d.rdev == devFull && len(p) > 0 {
		return 0, vfs.ENOSPC
	}
	return len(p), nil
}

func (d *device) WriteAt(p []byte, _ int64) (int, error) { return d.Write(p) }

// Seek does nothing: a device has no offset.
func (d *device) Seek(int64, int) (int64, error) { return 0, nil }

func (d *device) Stat() (vfs.Stat, error) { return d.stat, nil }
func (d *device) Truncate(int64) error    { return vfs.EINVAL }
func (d *device) Close() error            { return nil }
