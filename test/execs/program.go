// Package execs has a machine start programs, many a second. It must not know what is measured or tried with them.
package execs

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Life is how long one of these processes lives: long enough to be read.
const Life = 20 * time.Millisecond

// Program makes a program that sleeps for Life, and gives its command line. It is as small as a program can be, since two processors
// do not start a thousand ordinary ones a second: a loader, a C library and their page faults take most of an exec.
func Program(dir string) ([]string, error) {
	if runtime.GOARCH != "amd64" {
		return []string{"/bin/sleep", "0.02"}, nil
	}
	path := filepath.Join(dir, "brief")
	return []string{path}, os.WriteFile(path, image(), 0o700)
}

// image is nanosleep(2) and exit(2), and the time to sleep behind them.
func image() []byte {
	code := []byte{
		0xb8, 35, 0, 0, 0, // mov eax, SYS_nanosleep
		0x48, 0x8d, 0x3d, 13, 0, 0, 0, // lea rdi, [rip+13]: what comes after the code
		0x31, 0xf6, // xor esi, esi
		0x0f, 0x05, // syscall
		0xb8, 60, 0, 0, 0, // mov eax, SYS_exit
		0x31, 0xff, // xor edi, edi
		0x0f, 0x05, // syscall
	}
	const at, headers = 0x400000, 64 + 56
	size := uint64(headers + len(code) + 16)
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
			Entry: at + headers, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
		},
		elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: at, Filesz: size, Memsz: size, Align: 0x1000},
		code,
		[2]int64{0, Life.Nanoseconds()},
	} {
		_ = binary.Write(&b, binary.LittleEndian, part) // a buffer takes all
	}
	return b.Bytes()
}
