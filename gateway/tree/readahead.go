package tree

import (
	"sync"
	"sync/atomic"

	"github.com/pgbox/pgbox/gateway/vfs"
)

// What one load may bring along for a scan of small files, in files and bytes.
const (
	aheadFiles = 128
	aheadBytes = 4 << 20
	aheadUp    = 3 // directories that a scan is followed upwards
)

// readAhead makes a scan over many small files that are not in memory cost few round trips: from the second miss on,
// a load brings the following files of the directory, and those below it, along; when the misses go on, those of the
// following directories too. They go into the content store's cache.
type readAhead struct {
	misses atomic.Int32
	mu     sync.Mutex
	asked  map[Hash]struct{} // without a Peeker: what was loaded already
}

// small returns the only chunk of the file that r found.
func (w *Work) small(h Hash, r *walker) ([]byte, error) {
	if w.peek != nil {
		if b, ok := w.peek(h); ok {
			return b, nil
		}
	} else if w.ahead.known(h) {
		return w.one(h)
	}
	hashes := []Hash{h}
	if misses := w.ahead.misses.Add(1); misses > 1 && r.parent != nil {
		up := 0
		if misses > 3 {
			up = aheadUp
		}
		hashes = w.following(hashes, r, up)
	}
	data, err := w.load(hashes)
	if err != nil {
		return nil, err
	}
	if w.peek == nil {
		w.ahead.note(hashes)
	}
	return data[0], nil
}

func (a *readAhead) known(h Hash) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.asked[h]
	return ok
}

func (a *readAhead) note(hashes []Hash) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked == nil {
		a.asked = make(map[Hash]struct{})
	}
	for _, h := range hashes {
		a.asked[h] = struct{}{}
	}
}

// following adds the single-chunk files that are not in memory and come after the one that r found: in its
// directory, below that, and in the directories after it, up levels higher.
func (w *Work) following(hashes []Hash, r *walker, up int) []Hash {
	seen := map[Hash]struct{}{hashes[0]: {}}
	left, steps := int64(aheadBytes), 8*aheadFiles
	w.rlock()
	defer w.runlock()
	var scan func(dir *Inode, from string, depth int) bool
	scan = func(dir *Inode, from string, depth int) bool {
		if dir.ext == nil {
			return true
		}
		var below []*Inode
		more := true
		dir.ext.entries.ascend(from, func(_ string, ino Ino) bool {
			in := w.st.inode(ino)
			if steps--; in == nil || steps < 0 {
				more = false
				return false
			}
			switch {
			case in.Kind == vfs.Dir:
				below = append(below, in)
			case in.Kind == vfs.Regular && in.hash != (Hash{}) && in.Size <= ChunkSize:
				if _, ok := seen[in.hash]; ok {
					break
				}
				seen[in.hash] = struct{}{}
				if w.peek != nil {
					if _, ok := w.peek(in.hash); ok {
						break
					}
				} else if w.ahead.known(in.hash) {
					break
				}
				hashes = append(hashes, in.hash)
				left -= in.Size
			}
			more = left > 0 && len(hashes) < aheadFiles
			return more
		})
		for _, d := range below {
			if !more || depth == 0 {
				break
			}
			more = scan(d, "", depth-1)
		}
		return more
	}
	more := scan(r.parent, r.name, 8)
	for i := r.n - 1; i >= 0 && up > 0 && more; i, up = i-1, up-1 {
		above := w.st.inode(RootIno)
		if i > 0 {
			above = r.frame(i - 1).dir
		}
		more = scan(above, r.frame(i).name+"\x00", 8)
	}
	return hashes
}

// What a sequential reader of a large file has loaded ahead, in chunks: doubled with every miss.
const (
	windowMin = 2
	windowMax = 32
)

// window is the read-ahead of one open file.
type window struct {
	held map[Hash][]byte
	next int64 // where a sequential read goes on
	size int
}

// fill fills the pieces that are held and returns the others.
func (a *window) fill(need []piece) []piece {
	missing := need[:0]
	for i := range need {
		if b, ok := a.held[need[i].hash]; ok {
			need[i].fill(b)
		} else {
			missing = append(missing, need[i])
		}
	}
	return missing
}

// plan returns the hashes of the missing pieces of a read of [off, off+n), and, when the file is read in sequence, of
// the chunks that follow. The caller holds Work.mu for reading.
func (a *window) plan(e *entry, missing []piece, off int64, n int) []Hash {
	sequential := off == a.next
	a.next = off + int64(n)
	if len(missing) == 0 {
		return nil
	}
	hashes := make([]Hash, len(missing), len(missing)+windowMin)
	for i := range missing {
		hashes[i] = missing[i].hash
	}
	if !sequential {
		a.size = 0
		return hashes
	}
	a.size = min(max(2*a.size, windowMin), windowMax)
	first := (a.next - 1) / ChunkSize
	for i := first + 1; i <= first+int64(a.size) && i*ChunkSize < e.in.Size; i++ {
		if mem, h := e.find(uint32(i)); mem == nil && h != (Hash{}) {
			hashes = append(hashes, h)
		}
	}
	return hashes
}

// load loads what plan said and fills the missing pieces, which are the first of it.
func (a *window) load(w *Work, missing []piece, hashes []Hash) error {
	for len(missing) > 0 {
		part := hashes[:min(len(hashes), loadBatch)]
		if len(missing) == 1 && w.peek != nil {
			if b, ok := w.peek(hashes[0]); ok {
				// In memory already: nothing to read ahead.
				missing[0].fill(b)
				a.held = map[Hash][]byte{hashes[0]: b}
				return nil
			}
		}
		data, err := w.load(part)
		if err != nil {
			return err
		}
		a.held = make(map[Hash][]byte, len(part))
		for i, h := range part {
			a.held[h] = data[i]
			if i < len(missing) {
				missing[i].fill(data[i])
			}
		}
		missing, hashes = missing[min(len(missing), len(part)):], hashes[len(part):]
	}
	return nil
}
