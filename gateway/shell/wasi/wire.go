package wasi

import (
	"encoding/binary"
	"errors"
	"io"
)

// Call numbers the system calls that leave the machine. The names are those of WASI preview 1.
type Call uint8

// The calls, and two messages that have no answer.
const (
	FdAdvise Call = iota + 1
	FdAllocate
	FdClose
	FdFdstatGet
	FdFdstatSetFlags
	FdFilestatGet
	FdFilestatSetSize
	FdFilestatSetTimes
	FdPread
	FdPrestatDirName
	FdPwrite
	FdRead
	FdReaddir
	FdRenumber
	FdSeek
	FdSync
	FdWrite
	PathCreateDirectory
	PathFilestatGet
	PathFilestatSetTimes
	PathLink
	PathOpen
	PathReadlink
	PathRemoveDirectory
	PathRename
	PathSymlink
	PathUnlinkFile
	PollOneoff
	// MsgUsage: nanoseconds of CPU time since the last one and bytes of memory now, both 64 bits.
	MsgUsage
	// MsgExit: the program's status (32 bits) and, where it did not end by itself, why.
	MsgExit
	// MsgReady: the machine can be given a job.
	MsgReady
)

// A frame holds at most maxFrame bytes; reads and writes are cut to MaxData.
const (
	MaxData  = 128 << 10
	maxFrame = 1 << 20
)

var errFrame = errors.New("malformed frame")

// Frame is the contents of a message: values in little-endian order, strings and bytes after their length.
type Frame struct {
	B   []byte
	bad bool
}

// NewFrame begins a frame of a kind in b's memory.
func NewFrame(b []byte, kind Call) Frame { return Frame{B: append(b[:0], 0, 0, 0, 0, byte(kind))} }

// PutU16 appends a value.
func (f *Frame) PutU16(v uint16) { f.B = binary.LittleEndian.AppendUint16(f.B, v) }

// PutU32 appends a value.
func (f *Frame) PutU32(v uint32) { f.B = binary.LittleEndian.AppendUint32(f.B, v) }

// PutU64 appends a value.
func (f *Frame) PutU64(v uint64) { f.B = binary.LittleEndian.AppendUint64(f.B, v) }

// PutBytes appends bytes after their length.
func (f *Frame) PutBytes(v []byte) { f.PutU32(uint32(len(v))); f.B = append(f.B, v...) }

// PutString appends a string after its length.
func (f *Frame) PutString(v string) { f.PutU32(uint32(len(v))); f.B = append(f.B, v...) }

// Send writes a frame that NewFrame has begun, in one write.
func (f *Frame) Send(w io.Writer) error {
	binary.LittleEndian.PutUint32(f.B, uint32(len(f.B)-4))
	_, err := w.Write(f.B)
	return err
}

// Receive reads a frame into b's memory: its kind and its contents.
func Receive(r io.Reader, b []byte) (kind Call, f Frame, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, f, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n == 0 || n > maxFrame {
		return 0, f, errFrame
	}
	if n--; uint32(cap(b)) < n {
		b = make([]byte, n)
	}
	f.B = b[:n]
	_, err = io.ReadFull(r, f.B)
	return Call(head[4]), f, err
}

func (f *Frame) take(n uint32) []byte {
	if f.bad || uint32(len(f.B)) < n {
		f.bad = true
		return nil
	}
	v := f.B[:n]
	f.B = f.B[n:]
	return v
}

// U16 takes the next value.
func (f *Frame) U16() uint16 {
	if v := f.take(2); v != nil {
		return binary.LittleEndian.Uint16(v)
	}
	return 0
}

// U32 takes the next value; 0 when there is none, which [Frame.Bad] tells.
func (f *Frame) U32() uint32 {
	if v := f.take(4); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

// U64 takes the next value.
func (f *Frame) U64() uint64 {
	if v := f.take(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

// Bytes takes the next value. It shares the frame's memory.
func (f *Frame) Bytes() []byte { return f.take(f.U32()) }

// Bad reports whether more was taken than there was.
func (f *Frame) Bad() bool { return f.bad }

// Job is what a machine is told to run.
type Job struct {
	Args      []string
	Env       []string // NAME=value
	MaxMemory uint64   // bytes
	Code      []byte   // the module, where the machine is to run another than its own
}

// Send gives a machine its work.
func (j *Job) Send(w io.Writer) error {
	f := NewFrame(nil, 0)
	f.PutU64(j.MaxMemory)
	f.PutU64(uint64(len(j.Code)))
	for _, list := range [][]string{j.Args, j.Env} {
		f.PutU32(uint32(len(list)))
		for _, s := range list {
			f.PutString(s)
		}
	}
	if len(f.B) > maxFrame {
		return errFrame
	}
	if err := f.Send(w); err != nil || len(j.Code) == 0 {
		return err
	}
	_, err := w.Write(j.Code)
	return err
}

// ReceiveJob is the other end of [Job.Send]. maxCode bounds the module.
func ReceiveJob(r io.Reader, maxCode uint64) (j Job, err error) {
	_, f, err := Receive(r, nil)
	if err != nil {
		return j, err
	}
	j.MaxMemory = f.U64()
	code := f.U64()
	for _, list := range []*[]string{&j.Args, &j.Env} {
		for n := f.U32(); n > 0 && !f.bad; n-- {
			*list = append(*list, string(f.Bytes()))
		}
	}
	if f.bad || code > maxCode {
		return j, errFrame
	}
	if code > 0 {
		j.Code = make([]byte, code)
		_, err = io.ReadFull(r, j.Code)
	}
	return j, err
}
