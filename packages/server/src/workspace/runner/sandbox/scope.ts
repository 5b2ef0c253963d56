/**
 * A program that keeps its successor from abstract unix sockets of other programs, which belong to the network of the machine and are
 * visible wherever that is shown. It is written here as machine code, because neither bubblewrap nor Node can ask the kernel for this
 * (Landlock, Linux 6.12). Arguments: the path of a program, and the arguments that it gets, with its name first. On an older kernel it
 * starts the program all the same. Source: docs/security.md, Limitations.
 */

const LOADED_AT = 0x400000
const HEADERS = 64 + 56

/** Instructions of x86-64. Registers of a system call: number in eax; arguments in rdi, rsi, rdx. */
const CODE: readonly (readonly number[])[] = [
  // landlock_create_ruleset(attributes, 24, 0)
  [0xb8, 0xbc, 0x01, 0x00, 0x00], // mov eax, 444
  [0x48, 0x8d, 0x3d, 0x6c, 0x00, 0x00, 0x00], // lea rdi, [attributes]
  [0xbe, 0x18, 0x00, 0x00, 0x00], // mov esi, 24
  [0x31, 0xd2], // xor edx, edx
  [0x0f, 0x05], // syscall
  [0x85, 0xc0], // test eax, eax
  [0x78, 0x16], // js start: the kernel cannot do it
  // landlock_restrict_self(set, 0)
  [0x89, 0xc3], // mov ebx, eax
  [0x89, 0xc7], // mov edi, eax
  [0x31, 0xf6], // xor esi, esi
  [0xb8, 0xbe, 0x01, 0x00, 0x00], // mov eax, 446
  [0x0f, 0x05], // syscall
  // close(set)
  [0x89, 0xdf], // mov edi, ebx
  [0xb8, 0x03, 0x00, 0x00, 0x00], // mov eax, 3
  [0x0f, 0x05], // syscall
  // start: execve(argument 1, arguments from 2 on, environment)
  [0x48, 0x8b, 0x0c, 0x24], // mov rcx, [rsp]: number of arguments
  [0x48, 0x8d, 0x54, 0xcc, 0x10], // lea rdx, [rsp + rcx * 8 + 16]
  [0x48, 0x8b, 0x7c, 0x24, 0x10], // mov rdi, [rsp + 16]
  [0x48, 0x8d, 0x74, 0x24, 0x18], // lea rsi, [rsp + 24]
  [0xb8, 0x3b, 0x00, 0x00, 0x00], // mov eax, 59
  [0x0f, 0x05], // syscall
  // A script without an interpreter is one for the shell, as for execvp: execve("/bin/sh", "/bin/sh" and the path and the rest)
  [0x48, 0x83, 0xf8, 0xf8], // cmp rax, -ENOEXEC
  [0x75, 0x1d], // jne end
  [0x48, 0x89, 0x7c, 0x24, 0x18], // mov [rsp + 24], rdi
  [0x48, 0x8d, 0x3d, 0x35, 0x00, 0x00, 0x00], // lea rdi, [shell]
  [0x48, 0x89, 0x7c, 0x24, 0x10], // mov [rsp + 16], rdi
  [0x48, 0x8d, 0x74, 0x24, 0x10], // lea rsi, [rsp + 16]
  [0xb8, 0x3b, 0x00, 0x00, 0x00], // mov eax, 59
  [0x0f, 0x05], // syscall
  // end: exit(127)
  [0xbf, 0x7f, 0x00, 0x00, 0x00], // mov edi, 127
  [0xb8, 0x3c, 0x00, 0x00, 0x00], // mov eax, 60
  [0x0f, 0x05], // syscall
  // attributes: nothing of files, nothing of ports, the scope of abstract unix sockets
  [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
  // shell: "/bin/sh"
  [0x2f, 0x62, 0x69, 0x6e, 0x2f, 0x73, 0x68, 0x00],
]

/** The program as an executable file; null for architectures without one. */
export function scopeProgram(architecture: string = process.arch): Buffer | null {
  if (architecture !== 'x64') return null
  const code = Buffer.from(CODE.flat())
  const size = BigInt(HEADERS + code.length)
  const file = Buffer.alloc(HEADERS)
  // The header of an ELF file: 64 bits, little-endian, executable, x86-64.
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1])
  file.writeUInt16LE(2, 16)
  file.writeUInt16LE(62, 18)
  file.writeUInt32LE(1, 20)
  file.writeBigUInt64LE(BigInt(LOADED_AT + HEADERS), 24)
  file.writeBigUInt64LE(64n, 32)
  for (const [at, value] of [
    [52, 64],
    [54, 56],
    [56, 1],
  ] as const)
    file.writeUInt16LE(value, at)
  // One segment: the whole file, readable and executable.
  file.writeUInt32LE(1, 64)
  file.writeUInt32LE(5, 68)
  for (const [at, value] of [
    [80, BigInt(LOADED_AT)],
    [88, BigInt(LOADED_AT)],
    [96, size],
    [104, size],
    [112, 4096n],
  ] as const)
    file.writeBigUInt64LE(value, at)
  return Buffer.concat([file, code])
}
