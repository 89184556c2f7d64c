package cage

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Fence closes TCP addresses to the commands that are started in it: a program in the kernel,
// attached to their control group, checks each packet that they send. It needs rights that root
// has outside of most containers.
type Fence struct {
	dir   string
	group *os.File
}

// fencePrefix begins the names of control groups of fences.
const fencePrefix = "submitqueue-steps-"

// NewFence makes a fence.
func NewFence(addresses []netip.AddrPort) (*Fence, error) {
	closed := slices.Clone(addresses)
	if os.Getuid() != 0 {
		return nil, errors.New("addresses can be closed to steps by a server that is root only")
	}
	for i, c := range closed {
		closed[i] = netip.AddrPortFrom(c.Addr().Unmap(), c.Port())
	}
	own, err := ownGroup()
	if err != nil {
		return nil, err
	}
	sweep(own)
	dir, err := os.MkdirTemp(own, fencePrefix)
	if err != nil {
		return nil, fmt.Errorf("have a control group for steps: %w", err)
	}
	f := &Fence{dir: dir}
	if f.group, err = os.Open(dir); err == nil {
		err = unix.Flock(f.FD(), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = errors.Join(f.attach(unix.BPF_PROG_TYPE_CGROUP_SKB, unix.BPF_CGROUP_INET_EGRESS, packets(closed)),
			f.attach(unix.BPF_PROG_TYPE_CGROUP_SOCK_ADDR, unix.BPF_CGROUP_INET4_CONNECT, connects(closed, false)),
			f.attach(unix.BPF_PROG_TYPE_CGROUP_SOCK_ADDR, unix.BPF_CGROUP_INET6_CONNECT, connects(closed, true)))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("close addresses to steps: %w", err), f.Close())
	}
	return f, nil
}

// sweep removes the fences of processes that were killed. The fence of a living process is
// locked, even if no command runs in it.
func sweep(own string) {
	old, err := filepath.Glob(filepath.Join(own, fencePrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range old {
		group, err := os.Open(dir)
		if err != nil {
			continue // gone
		}
		if unix.Flock(int(group.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = unix.Rmdir(dir) // fails while a process runs in there
		}
		_ = group.Close() // nothing was written
	}
}

// Close ends a fence in which no process runs any more.
func (f *Fence) Close() error {
	var err error
	if f.group != nil {
		err = f.group.Close()
	}
	return errors.Join(err, unix.Rmdir(f.dir))
}

// FD is the control group, to start processes in it.
func (f *Fence) FD() int { return int(f.group.Fd()) }

// ownGroup returns the folder of this process's control group, of the second version.
func ownGroup() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	path := ""
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSpace(rest)
		}
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer mounts.Close()
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		rel, err := filepath.Rel(fields[3], path)
		if path == "" || err != nil || !filepath.IsLocal(rel) {
			break
		}
		return filepath.Join(fields[4], rel), nil
	}
	return "", errors.New("this machine has no control groups of version 2 to close addresses by")
}

// instruction is struct bpf_insn.
type instruction struct {
	code, registers uint8
	offset          int16
	value           int32
}

// Registers and codes of the programs below.
const (
	r0, r1, r2, r3, r4, r6, r7, r8, r10 = 0, 1, 2, 3, 4, 6, 7, 8, 10

	loadBytes = 26 // the helper bpf_skb_load_bytes
	header    = -64
	ports     = -8
	protoTCP  = 6
)

// assembler writes a program with jumps to named places.
type assembler struct {
	code   []instruction
	jumps  map[int]string
	places map[string]int
}

func (a *assembler) put(code, dst, src uint8, offset int16, value int32) {
	a.code = append(a.code, instruction{code, dst | src<<4, offset, value})
}

// set, copy and reckon change a register.
func (a *assembler) set(dst uint8, value int32) {
	a.put(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_K, dst, 0, 0, value)
}

func (a *assembler) copy(dst, src uint8) {
	a.put(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_X, dst, src, 0, 0)
}

func (a *assembler) reckon(how, dst uint8, value int32) {
	a.put(unix.BPF_ALU|how|unix.BPF_K, dst, 0, 0, value)
}

// load reads from the stack.
func (a *assembler) load(size, dst uint8, at int16) {
	a.put(unix.BPF_LDX|size|unix.BPF_MEM, dst, r10, at, 0)
}

// jump goes to a place if the 32 bits of a register compare with a value as how says.
func (a *assembler) jump(how, dst uint8, value int32, to string) {
	a.jumps[len(a.code)] = to
	a.put(unix.BPF_JMP32|how|unix.BPF_K, dst, 0, 0, value)
}

// fetch reads bytes of the packet, from the offset in r2, into the stack. For a packet that is
// too short it goes to a place.
func (a *assembler) fetch(at, size int32, pass string) {
	a.copy(r1, r6)
	a.copy(r3, r10)
	a.put(unix.BPF_ALU64|unix.BPF_ADD|unix.BPF_K, r3, 0, 0, at)
	a.set(r4, size)
	a.put(unix.BPF_JMP|unix.BPF_CALL, 0, 0, 0, loadBytes)
	a.jump(unix.BPF_JNE, r0, 0, pass)
}

func (a *assembler) place(name string) { a.places[name] = len(a.code) }

func (a *assembler) end(name string, value int32) {
	a.place(name)
	a.set(r0, value)
	a.put(unix.BPF_JMP|unix.BPF_EXIT, 0, 0, 0, 0)
}

// drop adds the end that refuses, if a jump goes there: the kernel refuses a program with a
// part that cannot be reached.
func (a *assembler) drop() {
	for _, to := range a.jumps {
		if to == "drop" {
			a.end("drop", 0)
			return
		}
	}
}

func newAssembler() *assembler { return &assembler{jumps: map[int]string{}, places: map[string]int{}} }

// program returns the instructions, with the offsets of their jumps.
func (a *assembler) program() []instruction {
	for at, to := range a.jumps {
		a.code[at].offset = int16(a.places[to] - at - 1)
	}
	return a.code
}

// word is the value that a load of four bytes gives.
func word(b []byte) int32 { return int32(binary.NativeEndian.Uint32(b)) }

// dropFour goes to "drop" where r8 is a closed address of version 4 and r7 its port.
func (a *assembler) dropFour(closed []netip.AddrPort) {
	for i, c := range closed {
		if !c.Addr().Is4() {
			continue
		}
		next := fmt.Sprint("next", i)
		a.jump(unix.BPF_JNE, r7, portOf(c), next)
		ip, mask := c.Addr().As4(), [4]byte{255, 255, 255, 255}
		if c.Addr().IsLoopback() { // all loopback addresses are this machine
			ip, mask = [4]byte{127}, [4]byte{255}
			a.jump(unix.BPF_JEQ, r8, 0, "drop")
		}
		a.copy(r2, r8)
		a.reckon(unix.BPF_AND, r2, word(mask[:]))
		a.jump(unix.BPF_JEQ, r2, word(ip[:]), "drop")
		a.place(next)
	}
}

// dropSix goes to "drop" where the address that the base register and an offset point to
// is a closed one and r7 its port.
func (a *assembler) dropSix(closed []netip.AddrPort, base uint8, at int16) {
	for i, c := range closed {
		next := fmt.Sprint("next", i)
		a.jump(unix.BPF_JNE, r7, portOf(c), next)
		ip := c.Addr().As16()
		for part := 0; part < 16; part += 4 {
			a.put(unix.BPF_LDX|unix.BPF_W|unix.BPF_MEM, r2, base, at+int16(part), 0)
			a.jump(unix.BPF_JNE, r2, word(ip[part:]), next)
		}
		a.jump(unix.BPF_JEQ, r7, portOf(c), "drop")
		a.place(next)
	}
}

func portOf(a netip.AddrPort) int32 {
	return int32(binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, a.Port())))
}

// packets drops packets of TCP to closed addresses and lets all others pass. The packet
// begins with its header of IP.
func packets(closed []netip.AddrPort) []instruction {
	a := newAssembler()
	a.copy(r6, r1)
	a.set(r2, 0)
	a.fetch(header, 40, "pass") // as long as the header of IPv6; a shorter packet is no TCP
	a.load(unix.BPF_B, r7, header)
	a.copy(r2, r7)
	a.reckon(unix.BPF_RSH, r2, 4)
	a.jump(unix.BPF_JEQ, r2, 6, "six")
	a.jump(unix.BPF_JNE, r2, 4, "pass")

	a.load(unix.BPF_B, r2, header+9)
	a.jump(unix.BPF_JNE, r2, protoTCP, "pass")
	a.copy(r2, r7)
	a.reckon(unix.BPF_AND, r2, 0x0f)
	a.reckon(unix.BPF_LSH, r2, 2)
	a.reckon(unix.BPF_ADD, r2, 2)
	a.fetch(ports, 2, "pass")
	a.load(unix.BPF_H, r7, ports)
	a.load(unix.BPF_W, r8, header+16)
	a.dropFour(closed)
	a.end("pass", 1)

	a.place("six")
	a.load(unix.BPF_B, r2, header+6)
	a.jump(unix.BPF_JNE, r2, protoTCP, "pass6")
	a.set(r2, 42)
	a.fetch(ports, 2, "pass6")
	a.load(unix.BPF_H, r7, ports)
	a.dropSix(closed, r10, header+24)
	a.end("pass6", 1)
	a.drop()
	return a.program()
}

// Offsets in struct bpf_sock_addr of the address that a program wants to
// connect to.
const (
	wantedFour = 4
	wantedSix  = 8
	wantedPort = 24
)

// connects refuses connections to closed addresses, so that no command waits for packets that
// are dropped. The program for version 6 refuses those of version 4, too, because sockets of
// version 6 can reach them.
func connects(closed []netip.AddrPort, six bool) []instruction {
	a := newAssembler()
	a.copy(r6, r1)
	a.put(unix.BPF_LDX|unix.BPF_W|unix.BPF_MEM, r7, r6, wantedPort, 0)
	if six {
		a.dropSix(closed, r6, wantedSix)
	} else {
		a.put(unix.BPF_LDX|unix.BPF_W|unix.BPF_MEM, r8, r6, wantedFour, 0)
		a.dropFour(closed)
	}
	a.end("pass", 1)
	a.drop()
	return a.program()
}

// attach has the kernel run a program for each packet, or each connect, of the control group.
func (f *Fence) attach(kind, at uint32, code []instruction) error {
	license := []byte("Apache-2.0\x00")
	load := struct {
		kind, size        uint32
		code, license     uint64
		level, logSize    uint32
		log               uint64
		version, flags    uint32
		name              [16]byte
		device, attachsTo uint32
	}{kind: kind, size: uint32(len(code)), code: uint64(uintptr(unsafe.Pointer(&code[0]))),
		license: uint64(uintptr(unsafe.Pointer(&license[0]))), attachsTo: at}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&load)), unsafe.Sizeof(load))
	runtime.KeepAlive(code)
	runtime.KeepAlive(license)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	attach := struct{ target, program, kind, flags uint32 }{uint32(f.FD()), uint32(fd), at, unix.BPF_F_ALLOW_MULTI}
	if _, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_ATTACH, uintptr(unsafe.Pointer(&attach)), unsafe.Sizeof(attach)); errno != 0 {
		return errno
	}
	return nil
}
