/**
 * The filter of system calls of every sandboxed process, as a program for the kernel (classic BPF). It takes away what no development
 * tool needs and what kernel exploits begin with; the list follows those of container runtimes. Source: docs/security.md, System calls.
 */

const EPERM = 1
const ENOSYS = 38
const EAFNOSUPPORT = 97

/** Architectures with a list of their numbers. */
export type Architecture = 'x64' | 'arm64'

/** Numbers of the kernel for an architecture, as the kernel reports it. */
const AUDIT: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 }

/** From this number on, calls of x86-64 are those of its 32-bit variant. */
const X32 = 0x40000000

/** Numbers of a call on x86-64 and arm64; null: it does not exist there. */
type Numbers = readonly [x64: number | null, arm64: number | null]

/** Calls that always fail. */
const REFUSED: readonly (readonly [names: string, error: number, numbers: readonly Numbers[]])[] = [
  [
    'add_key request_key keyctl',
    EPERM,
    [
      [248, 217],
      [249, 218],
      [250, 219],
    ],
  ],
  [
    'bpf perf_event_open userfaultfd fanotify_init',
    EPERM,
    [
      [321, 280],
      [298, 241],
      [323, 282],
      [300, 262],
    ],
  ],
  // Programs that meet this error use other calls instead.
  [
    'io_uring_setup io_uring_enter io_uring_register',
    ENOSYS,
    [
      [425, 425],
      [426, 426],
      [427, 427],
    ],
  ],
  [
    'kexec_load kexec_file_load reboot',
    EPERM,
    [
      [246, 104],
      [320, 294],
      [169, 142],
    ],
  ],
  ['open_by_handle_at', EPERM, [[304, 265]]],
  [
    'mount umount2 pivot_root setns',
    EPERM,
    [
      [165, 40],
      [166, 39],
      [155, 41],
      [308, 268],
    ],
  ],
  [
    'open_tree move_mount fsopen fsconfig fsmount fspick',
    EPERM,
    [428, 429, 430, 431, 432, 433].map((nr) => [nr, nr] as const),
  ],
  [
    'mount_setattr open_tree_attr',
    EPERM,
    [
      [442, 442],
      [467, 467],
    ],
  ],
  [
    'init_module finit_module delete_module',
    EPERM,
    [
      [175, 105],
      [313, 273],
      [176, 106],
    ],
  ],
  [
    'swapon swapoff acct quotactl quotactl_fd',
    EPERM,
    [
      [167, 224],
      [168, 225],
      [163, 89],
      [179, 60],
      [443, 443],
    ],
  ],
  [
    'settimeofday clock_settime syslog vhangup',
    EPERM,
    [
      [164, 170],
      [227, 112],
      [103, 116],
      [153, 58],
    ],
  ],
  [
    'iopl ioperm uselib _sysctl',
    EPERM,
    [
      [172, null],
      [173, null],
      [134, null],
      [156, null],
    ],
  ],
  // Its flags are behind a pointer, which no filter can follow. Libraries then use `clone`.
  ['clone3', ENOSYS, [[435, 435]]],
]

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const NAMESPACES = 0x7e020000
/** CLONE_NEWTIME, which has another meaning for `clone`. */
const NEWTIME = 0x80
/** Unspecified, unix, IPv4, IPv6, netlink, packets. */
const FAMILIES = [0, 1, 2, 10, 16, 17]
/** The usual execution domain, those of 32-bit programs and old versions, one without randomised addresses for debuggers, and queries. */
const DOMAINS = [0, 0x8, 0x20000, 0x20008, 0x40000, 0xffffffff]
/** TIOCSTI types into a terminal, TIOCLINUX into a console. */
const TYPING = [0x5412, 0x541c]

/** `flags`: fails with one of these bits. `among`: fails with one of these values. `except`: fails with all other values. */
type Condition = { flags: number } | { among: readonly number[] } | { except: readonly number[] }

/** Calls that fail depending on the lower 32 bits of an argument, counted from 0. */
const CONDITIONAL: readonly (readonly [numbers: Numbers, argument: number, when: Condition, error: number])[] = [
  [[56, 220], 0, { flags: NAMESPACES }, EPERM],
  [[272, 97], 0, { flags: NAMESPACES | NEWTIME }, EPERM],
  [[16, 29], 1, { among: TYPING }, EPERM],
  [[41, 198], 0, { except: FAMILIES }, EAFNOSUPPORT],
  [[135, 92], 0, { except: DOMAINS }, EPERM],
]

const ALLOW = 0x7fff0000
const KILL_PROCESS = 0x80000000
const errno = (error: number): number => 0x00050000 | error

type Instruction = readonly [code: number, isTrue: number, isFalse: number, value: number]

const load = (offset: number): Instruction => [0x20, 0, 0, offset]
const give = (value: number): Instruction => [0x06, 0, 0, value]
/** Continues with the next instruction if the loaded value is this one, and otherwise skips some. */
const unlessEqual = (value: number, skip: number): Instruction => [0x15, 0, skip, value]
const unlessAtLeast = (value: number, skip: number): Instruction => [0x35, 0, skip, value]
const unlessAnyBit = (bits: number, skip: number): Instruction => [0x45, 0, skip, bits]

const NUMBER_AT = 0
const ARCHITECTURE_AT = 4
const argumentAt = (index: number): number => 16 + index * 8

/** The filter as the bytes that bubblewrap reads; null for architectures without a list. */
export function seccompFilter(architecture: string = process.arch): Buffer | null {
  if (architecture !== 'x64' && architecture !== 'arm64') return null
  const program = instructionsFor(architecture)
  const bytes = Buffer.alloc(program.length * 8)
  for (const [at, [code, isTrue, isFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8)
    bytes.writeUInt8(isTrue, at * 8 + 2)
    bytes.writeUInt8(isFalse, at * 8 + 3)
    bytes.writeUInt32LE(value >>> 0, at * 8 + 4)
  }
  return bytes
}

function instructionsFor(architecture: Architecture): Instruction[] {
  const of = ([x64, arm64]: Numbers): number | null => (architecture === 'x64' ? x64 : arm64)
  const program = [load(ARCHITECTURE_AT), unlessEqual(AUDIT[architecture], 1), load(NUMBER_AT)]
  // Programs for another architecture, whose numbers differ, end at their first call.
  program.splice(1, 1, [0x15, 1, 0, AUDIT[architecture]], give(KILL_PROCESS))
  if (architecture === 'x64') program.push(unlessAtLeast(X32, 1), give(errno(ENOSYS)))
  for (const [, error, calls] of REFUSED) {
    for (const number of calls.map(of)) if (number !== null) program.push(unlessEqual(number, 1), give(errno(error)))
  }
  for (const [numbers, argument, when, error] of CONDITIONAL) {
    const number = of(numbers)
    if (number === null) continue
    const block = [load(argumentAt(argument)), ...blockOf(when, errno(error))]
    program.push(unlessEqual(number, block.length), ...block)
  }
  return [...program, give(ALLOW)]
}

function blockOf(when: Condition, refused: number): Instruction[] {
  if ('flags' in when) return [unlessAnyBit(when.flags, 1), give(refused), give(ALLOW)]
  const [values, found, other] = 'among' in when ? [when.among, refused, ALLOW] : [when.except, ALLOW, refused]
  return [...values.flatMap((value) => [unlessEqual(value, 1), give(found)]), give(other)]
}
