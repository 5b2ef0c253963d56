import { expect, test } from 'vitest'
import { seccompFilter, type Architecture } from './seccomp.ts'

const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003 }

/** Executes a filter as the kernel does, with the instructions that it uses. Returns the name of its answer. */
function verdict(filter: Buffer, call: { arch: number; nr: number; args?: number[] }): string {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(call.nr, 0)
  data.writeUInt32LE(call.arch, 4)
  for (const [index, value] of (call.args ?? []).entries()) data.writeUInt32LE(value, 16 + index * 8)
  let loaded = 0
  for (let at = 0; at < filter.length / 8; at++) {
    const [code, isTrue, isFalse] = [filter.readUInt16LE(at * 8), filter[at * 8 + 2]!, filter[at * 8 + 3]!]
    const value = filter.readUInt32LE(at * 8 + 4)
    const jump = (condition: boolean) => (at += condition ? isTrue : isFalse)
    if (code === 0x20) loaded = data.readUInt32LE(value)
    else if (code === 0x15) jump(loaded === value)
    else if (code === 0x35) jump(loaded >= value)
    else if (code === 0x45) jump((loaded & value) !== 0)
    else if (code === 0x06) return answerOf(value)
    else throw new Error(`unknown instruction ${code}`)
  }
  throw new Error('the filter has no end')
}

function answerOf(value: number): string {
  if (value === 0x7fff0000) return 'allowed'
  if (value === 0x80000000) return 'killed'
  return `error ${value & 0xffff}`
}

const NEWUSER = 0x10000000
const THREAD = 0x3d0f00

test.each<[string, number, number, number[], string]>([
  ['read', 0, 63, [], 'allowed'],
  ['execve', 59, 221, [], 'allowed'],
  ['ptrace', 101, 117, [], 'allowed'],
  ['keyctl', 250, 219, [], 'error 1'],
  ['add_key', 248, 217, [], 'error 1'],
  ['bpf', 321, 280, [], 'error 1'],
  ['perf_event_open', 298, 241, [], 'error 1'],
  ['userfaultfd', 323, 282, [], 'error 1'],
  ['io_uring_setup', 425, 425, [], 'error 38'],
  ['kexec_load', 246, 104, [], 'error 1'],
  ['open_by_handle_at', 304, 265, [], 'error 1'],
  ['mount', 165, 40, [], 'error 1'],
  ['fspick', 433, 433, [], 'error 1'],
  ['setns', 308, 268, [], 'error 1'],
  ['clone3', 435, 435, [], 'error 38'],
  ['clone of a thread', 56, 220, [THREAD], 'allowed'],
  ['clone with a user namespace', 56, 220, [NEWUSER | 17], 'error 1'],
  ['unshare of files', 272, 97, [0x400], 'allowed'],
  ['unshare of mounts', 272, 97, [0x20000], 'error 1'],
  ['unshare of times', 272, 97, [0x80], 'error 1'],
  ['ioctl TCGETS', 16, 29, [1, 0x5401], 'allowed'],
  ['ioctl TIOCSTI', 16, 29, [0, 0x5412], 'error 1'],
  ['socket of unix', 41, 198, [1], 'allowed'],
  ['socket of IPv6', 41, 198, [10], 'allowed'],
  ['socket of a virtual machine', 41, 198, [40], 'error 97'],
  ['socket of the crypto API', 41, 198, [38], 'error 97'],
  ['personality query', 135, 92, [0xffffffff], 'allowed'],
  ['personality that maps page zero', 135, 92, [0x100000], 'error 1'],
])('the filter answers %s', (_, x64, arm64, args, expected) => {
  const answers = (['x64', 'arm64'] as const).map((name) => {
    const nr = name === 'x64' ? x64 : arm64
    return verdict(seccompFilter(name)!, { arch: AUDIT[name], nr, args })
  })
  expect(answers).toEqual([expected, expected])
})

test.each<[Architecture, number]>([
  ['x64', AUDIT.i386],
  ['x64', AUDIT.arm64],
  ['arm64', AUDIT.x64],
])('the filter of %s ends a program for another architecture', (name, arch) => {
  expect(verdict(seccompFilter(name)!, { arch, nr: 1 })).toBe('killed')
})

test('the filter refuses the 32-bit calls of x86-64', () => {
  expect(verdict(seccompFilter('x64')!, { arch: AUDIT.x64, nr: 0x40000001 })).toBe('error 38')
})

test('there is no filter for an architecture whose numbers are not listed', () => {
  expect(seccompFilter('riscv64')).toBeNull()
})
