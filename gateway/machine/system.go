package machine

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/pgbox/pgbox/gateway/shell/wasi"
)

// Numbers of errors that the inside of a machine finds out by itself.
const (
	errnoFault  = 21
	errnoInval  = 28
	errnoIO     = 29
	errnoNosys  = 52
	errnoNotsup = 58
)

// system is what a running module calls. What concerns only itself (its arguments, the clock, random bytes) is answered
// here.
type system struct {
	w         *worker
	args, env []string
	limit     uint64 // bytes of memory
	gone      error  // the connection is
	mem       api.Memory
	frame     []byte // reused
	answer    []byte
	pattern   []byte // that the program looks for in its memory
}

// function is a system call: letters are the types of its parameters, i for 32 and I for 64 bits.
type function struct {
	name, params string
	call         func(s *system, a []uint64) uint32
}

var functions = []function{
	{"args_get", "ii", func(s *system, a []uint64) uint32 { return s.putList(s.args, a) }},
	{"args_sizes_get", "ii", func(s *system, a []uint64) uint32 { return s.putSizes(s.args, a) }},
	{"environ_get", "ii", func(s *system, a []uint64) uint32 { return s.putList(s.env, a) }},
	{"environ_sizes_get", "ii", func(s *system, a []uint64) uint32 { return s.putSizes(s.env, a) }},
	{"clock_res_get", "ii", func(s *system, a []uint64) uint32 { return s.put64(a[1], 1) }},
	{"clock_time_get", "iIi", (*system).clockTimeGet},
	{"fd_advise", "iIIi", func(s *system, a []uint64) uint32 { return s.plain(wasi.FdAdvise, a, "iII") }},
	{"fd_allocate", "iII", func(s *system, a []uint64) uint32 { return s.plain(wasi.FdAllocate, a, "iII") }},
	{"fd_close", "i", func(s *system, a []uint64) uint32 { return s.plain(wasi.FdClose, a, "i") }},
	{"fd_datasync", "i", func(s *system, a []uint64) uint32 { return s.plain(wasi.FdSync, a, "i") }},
	{"fd_fdstat_get", "ii", func(s *system, a []uint64) uint32 { return s.into(wasi.FdFdstatGet, a, "i", a[1], 24) }},
	{"fd_fdstat_set_flags", "ii", func(s *system, a []uint64) uint32 { return s.plain(wasi.FdFdstatSetFlags, a, "ih") }},
	{"fd_fdstat_set_rights", "iII", func(*system, []uint64) uint32 { return 0 }},
	{"fd_filestat_get", "ii", func(s *system, a []uint64) uint32 { return s.into(wasi.FdFilestatGet, a, "i", a[1], 64) }},
	{"fd_filestat_set_size", "iI", func(s *system, a []uint64) uint32 { return s.plain(wasi.FdFilestatSetSize, a, "iI") }},
	{"fd_filestat_set_times", "iIIi", func(s *system, a []uint64) uint32 {
		return s.plain(wasi.FdFilestatSetTimes, a, "iIIh")
	}},
	{"fd_pread", "iiiIi", func(s *system, a []uint64) uint32 {
		if a[3]>>62 == 1 {
			return s.peek(a)
		}
		return s.read(wasi.FdPread, a[0], a[1], a[2], &a[3], a[4])
	}},
	{"fd_prestat_get", "ii", (*system).fdPrestatGet},
	{"fd_prestat_dir_name", "iii", func(s *system, a []uint64) uint32 {
		return s.text(wasi.FdPrestatDirName, a, "i", a[1], a[2], nil)
	}},
	{"fd_pwrite", "iiiIi", func(s *system, a []uint64) uint32 {
		if a[3]>>62 == 1 {
			return s.poke(a)
		}
		return s.write(wasi.FdPwrite, a[0], a[1], a[2], &a[3], a[4])
	}},
	{"fd_read", "iiii", func(s *system, a []uint64) uint32 { return s.read(wasi.FdRead, a[0], a[1], a[2], nil, a[3]) }},
	{"fd_readdir", "iiiIi", func(s *system, a []uint64) uint32 {
		return s.text(wasi.FdReaddir, []uint64{a[0], a[3], a[2]}, "iIi", a[1], a[2], &a[4])
	}},
	{"fd_renumber", "ii", func(s *system, a []uint64) uint32 { return s.plain(wasi.FdRenumber, a, "ii") }},
	{"fd_seek", "iIii", func(s *system, a []uint64) uint32 { return s.into(wasi.FdSeek, a, "iIi", a[3], 8) }},
	{"fd_sync", "i", func(s *system, a []uint64) uint32 { return s.plain(wasi.FdSync, a, "i") }},
	{"fd_tell", "ii", func(s *system, a []uint64) uint32 {
		return s.into(wasi.FdSeek, []uint64{a[0], 0, 1}, "iIi", a[1], 8)
	}},
	{"fd_write", "iiii", func(s *system, a []uint64) uint32 { return s.write(wasi.FdWrite, a[0], a[1], a[2], nil, a[3]) }},
	{"path_create_directory", "iii", func(s *system, a []uint64) uint32 {
		return s.plain(wasi.PathCreateDirectory, a, "is")
	}},
	{"path_filestat_get", "iiiii", func(s *system, a []uint64) uint32 {
		return s.into(wasi.PathFilestatGet, []uint64{a[1], a[0], a[2], a[3]}, "iis", a[4], 64)
	}},
	{"path_filestat_set_times", "iiiiIIi", func(s *system, a []uint64) uint32 {
		return s.plain(wasi.PathFilestatSetTimes, []uint64{a[1], a[0], a[2], a[3], a[4], a[5], a[6]}, "iisIIh")
	}},
	{"path_link", "iiiiiii", func(s *system, a []uint64) uint32 {
		return s.plain(wasi.PathLink, []uint64{a[1], a[0], a[2], a[3], a[4], a[5], a[6]}, "iisis")
	}},
	{"path_open", "iiiiiIIii", func(s *system, a []uint64) uint32 {
		return s.into(wasi.PathOpen, []uint64{a[1], a[0], a[2], a[3], a[4], a[5], a[7]}, "iisiIh", a[8], 4)
	}},
	{"path_readlink", "iiiiii", func(s *system, a []uint64) uint32 {
		return s.text(wasi.PathReadlink, a, "is", a[3], a[4], &a[5])
	}},
	{"path_remove_directory", "iii", func(s *system, a []uint64) uint32 {
		return s.plain(wasi.PathRemoveDirectory, a, "is")
	}},
	{"path_rename", "iiiiii", func(s *system, a []uint64) uint32 { return s.plain(wasi.PathRename, a, "isis") }},
	{"path_symlink", "iiiii", func(s *system, a []uint64) uint32 { return s.plain(wasi.PathSymlink, a, "sis") }},
	{"path_unlink_file", "iii", func(s *system, a []uint64) uint32 { return s.plain(wasi.PathUnlinkFile, a, "is") }},
	{"poll_oneoff", "iiii", (*system).pollOneoff},
	{"proc_raise", "i", func(*system, []uint64) uint32 { return errnoNosys }},
	{"random_get", "ii", (*system).randomGet},
	{"sched_yield", "", func(*system, []uint64) uint32 { runtime.Gosched(); return 0 }},
	{"sock_accept", "iii", func(*system, []uint64) uint32 { return errnoNotsup }},
	{"sock_recv", "iiiiii", func(*system, []uint64) uint32 { return errnoNotsup }},
	{"sock_send", "iiiii", func(*system, []uint64) uint32 { return errnoNotsup }},
	{"sock_shutdown", "ii", func(*system, []uint64) uint32 { return errnoNotsup }},
}

// module is what programs import.
func (s *system) module(rt wazero.Runtime) wazero.HostModuleBuilder {
	b := rt.NewHostModuleBuilder("wasi_snapshot_preview1")
	for _, f := range functions {
		params := make([]api.ValueType, len(f.params))
		for i, c := range f.params {
			if params[i] = api.ValueTypeI32; c == 'I' {
				params[i] = api.ValueTypeI64
			}
		}
		call := f.call
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, stack []uint64) {
			s.mem = m.Memory()
			errno := uint32(errnoFault)
			if s.mem != nil {
				errno = call(s, stack)
			}
			if s.gone != nil {
				panic(s.gone)
			}
			stack[0] = uint64(errno)
		}), params, []api.ValueType{api.ValueTypeI32}).Export(f.name)
	}
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
		code := uint32(stack[0])
		_ = m.CloseWithExitCode(ctx, code)
		panic(sys.NewExitError(code))
	}), []api.ValueType{api.ValueTypeI32}, nil).Export("proc_exit")
	return b
}

// request builds a call from parameters: types are h, i and I for 16, 32 and 64 bits, and s for an address and a
// length.
func (s *system) request(kind wasi.Call, a []uint64, types string) (f wasi.Frame, ok bool) {
	f = wasi.NewFrame(s.frame, kind)
	for _, c := range types {
		switch c {
		case 'h':
			f.PutU16(uint16(a[0]))
		case 'i':
			f.PutU32(uint32(a[0]))
		case 'I':
			f.PutU64(a[0])
		case 's':
			b, ok := s.mem.Read(uint32(a[0]), uint32(a[1]))
			if !ok || len(b) > wasi.MaxData {
				return f, false
			}
			f.PutBytes(b)
			a = a[1:]
		}
		a = a[1:]
	}
	return f, true
}

// do sends a call and waits for its answer.
func (s *system) do(f wasi.Frame) (errno uint32, answer wasi.Frame) {
	s.frame = f.B
	s.w.collect()
	s.w.mu.Lock()
	err := f.Send(s.w.conn)
	s.w.mu.Unlock()
	if err == nil {
		_, answer, err = wasi.Receive(s.w.in, s.answer)
	}
	if err != nil {
		s.gone = err
		return errnoIO, answer
	}
	s.answer = answer.B[:0]
	return uint32(answer.U16()), answer
}

// plain is a call with no results.
func (s *system) plain(kind wasi.Call, a []uint64, types string) uint32 {
	f, ok := s.request(kind, a, types)
	if !ok {
		return errnoFault
	}
	errno, _ := s.do(f)
	return errno
}

// into is a call whose result is a structure of n bytes at ptr.
func (s *system) into(kind wasi.Call, a []uint64, types string, ptr uint64, n int) uint32 {
	f, ok := s.request(kind, a, types)
	if !ok {
		return errnoFault
	}
	errno, answer := s.do(f)
	switch {
	case errno != 0:
		return errno
	case len(answer.B) != n || !s.mem.Write(uint32(ptr), answer.B):
		return errnoFault
	}
	return 0
}

// text is a call whose result is bytes at ptr, at most n, and their number at used.
func (s *system) text(kind wasi.Call, a []uint64, types string, ptr, n uint64, used *uint64) uint32 {
	f, ok := s.request(kind, a, types)
	if !ok {
		return errnoFault
	}
	errno, answer := s.do(f)
	if errno != 0 {
		return errno
	}
	b := answer.Bytes()
	b = b[:min(uint64(len(b)), uint64(uint32(n)))]
	if !s.mem.Write(uint32(ptr), b) {
		return errnoFault
	}
	if used == nil {
		return 0
	}
	return s.put32(*used, uint32(len(b)))
}

func (s *system) put32(ptr uint64, v uint32) uint32 {
	if !s.mem.WriteUint32Le(uint32(ptr), v) {
		return errnoFault
	}
	return 0
}

func (s *system) put64(ptr, v uint64) uint32 {
	if !s.mem.WriteUint64Le(uint32(ptr), v) {
		return errnoFault
	}
	return 0
}

// vectors are the pieces of memory of a read or write, as far as they are moved at once.
func (s *system) vectors(ptr, n uint64) (pieces [][]byte, total int, ok bool) {
	for i := uint64(0); i < uint64(uint32(n)) && total < wasi.MaxData; i++ {
		v, ok := s.mem.Read(uint32(ptr+8*i), 8)
		if !ok {
			return nil, 0, false
		}
		b, ok := s.mem.Read(binary.LittleEndian.Uint32(v), binary.LittleEndian.Uint32(v[4:]))
		if !ok {
			return nil, 0, false
		}
		b = b[:min(len(b), wasi.MaxData-total)]
		pieces, total = append(pieces, b), total+len(b)
	}
	return pieces, total, true
}

func (s *system) read(kind wasi.Call, fd, vecs, n uint64, off *uint64, used uint64) uint32 {
	pieces, total, ok := s.vectors(vecs, n)
	if !ok {
		return errnoFault
	}
	f := wasi.NewFrame(s.frame, kind)
	f.PutU32(uint32(fd))
	f.PutU32(uint32(total))
	if off != nil {
		f.PutU64(*off)
	}
	errno, answer := s.do(f)
	if errno != 0 {
		return errno
	}
	data := answer.Bytes()
	got := len(data)
	for _, p := range pieces {
		data = data[copy(p, data):]
	}
	return s.put32(used, uint32(got-len(data)))
}

func (s *system) write(kind wasi.Call, fd, vecs, n uint64, off *uint64, used uint64) uint32 {
	pieces, total, ok := s.vectors(vecs, n)
	if !ok {
		return errnoFault
	}
	f := wasi.NewFrame(s.frame, kind)
	f.PutU32(uint32(fd))
	if off != nil {
		f.PutU64(*off)
	}
	f.PutU32(uint32(total))
	for _, p := range pieces {
		f.B = append(f.B, p...)
	}
	errno, answer := s.do(f)
	if errno != 0 {
		return errno
	}
	return s.put32(used, answer.U32())
}

// Offsets from 1<<62 on are not those of a file: there, a program reads and writes its own memory, which a language may
// have no other means for. With this bit set, what is written is looked for by the next read, which tells the address
// where it stands at or behind its own.
const search = 1 << 61

func (s *system) peek(a []uint64) uint32 {
	pieces, total, ok := s.vectors(a[1], a[2])
	if !ok {
		return errnoFault
	}
	from, n := uint32(a[3]), uint32(total)
	var data []byte
	if a[3]&search == 0 {
		if data, ok = s.mem.Read(from, n); !ok {
			return errnoFault
		}
	} else if all, ok := s.mem.Read(from, s.mem.Size()-min(from, s.mem.Size())); ok && len(s.pattern) > 0 {
		if at := bytes.Index(all, s.pattern); at >= 0 {
			data = binary.LittleEndian.AppendUint32(nil, from+uint32(at))
		}
	}
	got := 0
	for _, p := range pieces {
		got += copy(p, data[min(got, len(data)):])
	}
	return s.put32(a[4], uint32(got))
}

func (s *system) poke(a []uint64) uint32 {
	pieces, total, ok := s.vectors(a[1], a[2])
	if !ok {
		return errnoFault
	}
	data := bytes.Join(pieces, nil)
	if a[3]&search != 0 {
		s.pattern = data
	} else if !s.mem.Write(uint32(a[3]), data) {
		return errnoFault
	}
	return s.put32(a[4], uint32(total))
}

// fdPrestatGet: a preopened directory (0) and the length of its name.
func (s *system) fdPrestatGet(a []uint64) uint32 {
	f, _ := s.request(wasi.FdPrestatDirName, a, "i")
	errno, answer := s.do(f)
	if errno != 0 {
		return errno
	}
	return s.put64(a[1], uint64(len(answer.Bytes()))<<32)
}

func (s *system) putSizes(list []string, a []uint64) uint32 {
	n := 0
	for _, v := range list {
		n += len(v) + 1
	}
	return s.put32(a[0], uint32(len(list))) | s.put32(a[1], uint32(n))
}

func (s *system) putList(list []string, a []uint64) uint32 {
	at := uint32(a[1])
	for i, v := range list {
		if s.put32(a[0]+uint64(4*i), at) != 0 || !s.mem.WriteString(at, v+"\x00") {
			return errnoFault
		}
		at += uint32(len(v)) + 1
	}
	return 0
}

func (s *system) clockTimeGet(a []uint64) uint32 {
	const realtime, monotonic, process = 0, 1, 2
	switch uint32(a[0]) {
	case realtime:
		return s.put64(a[2], uint64(time.Now().UnixNano()))
	case monotonic:
		return s.put64(a[2], uint64(time.Since(started)))
	case process, process + 1:
		return s.put64(a[2], uint64(processTime()))
	}
	return errnoInval
}

var started = time.Now()

func (s *system) randomGet(a []uint64) uint32 {
	b, ok := s.mem.Read(uint32(a[0]), uint32(a[1]))
	if !ok {
		return errnoFault
	}
	_, _ = rand.Read(b) // never fails
	return 0
}

// pollOneoff waits for the first of some clocks and descriptors: subscriptions of 48 bytes, events of 32.
func (s *system) pollOneoff(a []uint64) uint32 {
	const clock, subscription, event, absolute = 0, 48, 32, 1
	n := uint32(a[2])
	if n == 0 || n > 1<<12 {
		return errnoInval
	}
	subs, ok := s.mem.Read(uint32(a[0]), n*subscription)
	if !ok {
		return errnoFault
	}
	subs = append([]byte(nil), subs...)
	wait, f := time.Duration(-1), wasi.NewFrame(s.frame, wasi.PollOneoff)
	f.PutU32(0)
	files := uint32(0)
	for sub := subs; len(sub) > 0; sub = sub[subscription:] {
		if sub[8] != clock {
			f.PutU16(uint16(sub[8]))
			f.PutU32(binary.LittleEndian.Uint32(sub[16:]))
			files++
			continue
		}
		d := time.Duration(min(binary.LittleEndian.Uint64(sub[24:]), 1<<62))
		if binary.LittleEndian.Uint16(sub[40:])&absolute != 0 {
			now := time.Now().UnixNano()
			if binary.LittleEndian.Uint32(sub[16:]) != 0 {
				now = int64(time.Since(started))
			}
			d -= time.Duration(now)
		}
		if d = max(d, 0); wait < 0 || d < wait {
			wait = d
		}
	}
	var ready wasi.Frame
	if files > 0 {
		binary.LittleEndian.PutUint32(f.B[5:], files)
		f.PutU64(uint64(wait))
		var errno uint32
		if errno, ready = s.do(f); errno != 0 {
			return errno
		}
	} else {
		time.Sleep(wait)
	}
	var out []byte
	none := true
	for i := range 2 { // clocks only where no file is ready
		for sub := subs; len(sub) > 0; sub = sub[subscription:] {
			var e [event]byte
			copy(e[:8], sub[:8])
			e[10] = sub[8]
			if i == 0 && sub[8] != clock {
				state := ready.U16() // 0: not ready
				if state == 0 {
					continue
				}
				binary.LittleEndian.PutUint16(e[8:], state-1)
				binary.LittleEndian.PutUint64(e[16:], 1)
				out, none = append(out, e[:]...), false
			}
			if i == 1 && sub[8] == clock && none {
				out = append(out, e[:]...)
			}
		}
	}
	if !s.mem.Write(uint32(a[1]), out) {
		return errnoFault
	}
	return s.put32(a[3], uint32(len(out)/event))
}

// allocate reserves the addresses of a memory once, so that it grows in place.
func (s *system) allocate(_, most uint64) experimental.LinearMemory {
	if s.limit > 0 {
		most = min(most, s.limit)
	}
	return newMemory(most, func(size uint64) {
		s.w.memory.Store(size)
		s.w.usage() // before it is touched
	})
}
