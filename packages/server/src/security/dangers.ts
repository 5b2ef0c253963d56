/** Finds dangerous commands by their names and words. Pure. Source: agent-core.md 4.6, 4.7; F75. */
import { isCatastrophic, isPersistenceFile, isRawDevice, isSystemFolder } from './paths.ts'
import type { ShellCommand, ShellScan } from './shell/scan.ts'
import { UNKNOWN } from './shell/shell-state.ts'
import { parseFind } from './shell/find-xargs.ts'

export type Rail = 'fetch-to-exec' | 'raw-disk-op' | 'catastrophic-delete'
/** `rail`: the danger is also a policy rail, which no list of patterns can turn off. */
type Danger = { id: string; rail?: Rail }

/** What each danger is, by its id. */
export const DANGERS: Readonly<Record<string, string>> = {
  'exec.destruct.find_delete': 'deletes a whole system, home or workspace',
  'exec.destruct.fork_bomb': 'starts processes without an end',
  'exec.destruct.raw_disk': 'writes to a raw disk',
  'exec.destruct.rm_rf': 'recursive deletion by force',
  'exec.destruct.sudo_rm': 'deletion as another user',
  'exec.evade.history': 'removes the history of commands',
  'exec.git.force_push': 'replaces the history of a protected branch',
  'exec.net.fetch_to_exec': 'executes what it fetches from the network',
  'exec.net.reverse_shell': 'opens a shell to another machine',
  'exec.persist.entrance': 'installs something that runs by itself later',
  'exec.system.permissions': 'changes the permissions of a whole tree',
}

export type Dangers = {
  found: readonly Danger[]
  /** True when a command may be dangerous but cannot be read. */
  isUncertain: boolean
  /** True when part of the text was not read. */
  isPartial: boolean
}

/** Commands that print, search or store their arguments without running them. */
const PASSIVE_COMMANDS =
  /^(?:|echo|printf|e?f?grep|rg|ag|man|which|type|whatis|git|npm|pnpm|yarn|docker-compose|find|export|alias|local|declare)$/
const PROTECTED_BRANCH = /^(?:refs\/heads\/)?(?:main|master|trunk|develop|stable|prod(?:uction)?|release(?:[/-].*)?)$/

export function dangersOf(
  { commands, dangers, isUncertain, isPartial }: ShellScan,
  workingDir: string | null,
): Dangers {
  const found: Danger[] = []
  let unsure = isUncertain
  if (dangers.has('fetch-to-exec')) found.push({ id: 'exec.net.fetch_to_exec', rail: 'fetch-to-exec' })
  if (dangers.has('fork-bomb')) found.push({ id: 'exec.destruct.fork_bomb' })
  for (const command of commands) {
    found.push(...deletion(command, workingDir), ...disk(command), ...permissions(command), ...persistence(command))
    const push = forcedPush(command)
    if (push === 'protected') found.push({ id: 'exec.git.force_push' })
    if (push === 'unknown' || isUnreadableDeletion(command)) unsure = true
  }
  return { found, isUncertain: unsure, isPartial }
}

type Flags = { letters: ReadonlySet<string>; operands: readonly string[] }

const LONG: Record<string, string> = { '--recursive': 'r', '--force': 'f' }

/** Flags up to `--`. A long flag may be abbreviated. Unknown characters are ignored. */
function flagsOf(args: readonly string[]): Flags {
  const letters = new Set<string>()
  const operands: string[] = []
  let isOver = false
  for (const arg of args) {
    const flag = arg.replaceAll(UNKNOWN, '').toLowerCase()
    if (isOver || !/^-./.test(flag)) operands.push(arg)
    else if (flag === '--') isOver = true
    else if (flag.startsWith('--')) {
      const full = Object.keys(LONG).find((name) => flag.length > 3 && name.startsWith(flag))
      if (full !== undefined) letters.add(LONG[full]!)
    } else for (const letter of flag.slice(1)) letters.add(letter)
  }
  return { letters, operands }
}

function deletion({ name, args, cwd, isElevated }: ShellCommand, workingDir: string | null): Danger[] {
  const isCatastrophe = (path: string): boolean => isCatastrophic(path, cwd, workingDir)
  if (name === 'find') {
    const { roots, isFiltered, deletes } = parseFind(['find', ...args])
    const isWhole = roots.some((root) => isCatastrophe(root) && (!isFiltered || /^[/~]/.test(root)))
    return deletes && isWhole ? [{ id: 'exec.destruct.find_delete', rail: 'catastrophic-delete' }] : []
  }
  if (name !== 'rm') {
    // Another command may run `rm` from its arguments, such as a container runtime.
    const at =
      name === null || PASSIVE_COMMANDS.test(name) ? -1 : args.findIndex((arg) => /^(?:\/\S*\/)?rm$/i.test(arg))
    const inner = { name: 'rm', args: args.slice(at + 1), cwd, isElevated: false, writes: [], isBroken: false }
    return at === -1 ? [] : deletion(inner, workingDir)
  }
  const { letters, operands } = flagsOf(args)
  const found: Danger[] = isElevated ? [{ id: 'exec.destruct.sudo_rm' }] : []
  if (!letters.has('r')) return found
  const isWhole = operands.some(isCatastrophe)
  if (letters.has('f') || isWhole) {
    found.push({ id: 'exec.destruct.rm_rf', ...(isWhole ? { rail: 'catastrophic-delete' as const } : {}) })
  }
  return found
}

/** True when the command has the flags of a forced recursive deletion, but its name or form cannot be read. */
function isUnreadableDeletion({ name, args, isBroken }: ShellCommand): boolean {
  if (name !== null && !isBroken) return false
  const { letters } = flagsOf(args)
  return letters.has('r') && letters.has('f')
}

function disk({ name, args, writes }: ShellCommand): Danger[] {
  const operands = args.filter((arg) => !arg.startsWith('-'))
  const isFormat =
    name !== null && (/^mkfs(?:\.|$)/.test(name) || /^(?:mke2fs|mkswap|mkdosfs)$/.test(name)) && operands.length > 0
  const isCopy = name === 'dd' && args.some((arg) => arg.startsWith('of=') && isRawDevice(arg.slice(3)))
  const isErasure =
    name !== null &&
    /^(?:shred|wipefs|blkdiscard|sgdisk|sfdisk|fdisk|parted|tee|cp|mv|truncate|cryptsetup)$/.test(name) &&
    operands.some(isRawDevice) &&
    !isListing(name, args)
  if (!isFormat && !isCopy && !isErasure && !writes.some(isRawDevice)) return []
  return [{ id: 'exec.destruct.raw_disk', rail: 'raw-disk-op' }]
}

const isListing = (name: string, args: readonly string[]): boolean =>
  (/^(?:fdisk|sfdisk|sgdisk|parted)$/.test(name) && args.some((arg) => /^(?:-l|--list|-p|print)$/.test(arg))) ||
  // The last operand is written; earlier ones are only read.
  (/^(?:cp|mv)$/.test(name) && !isRawDevice(args.at(-1) ?? ''))

function permissions({ name, args, cwd }: ShellCommand): Danger[] {
  if (name !== 'chmod' && name !== 'chown' && name !== 'chgrp') return []
  const isRecursive = args.some((arg) => /^(?:-[a-zA-Z]*R|--recursive)/.test(arg))
  const [, ...targets] = args.filter((arg) => !/^-[a-zA-Z-]*[RfvcHLP]|^--/.test(arg))
  return isRecursive && targets.some((target) => isSystemFolder(target, cwd)) ? [{ id: 'exec.system.permissions' }] : []
}

/** Changes that survive the command, and attempts to hide it. */
function persistence({ name, args, writes, cwd }: ShellCommand): Danger[] {
  const found: Danger[] = []
  const operands = args.filter((arg) => !arg.startsWith('-'))
  const target = operands.at(-1) ?? ''
  const written = [...writes]
  if (name !== null && /^(?:cp|mv|install|ln)$/.test(name)) written.push(target)
  if (name === 'tee' || name === 'truncate') written.push(...operands)
  if (name === 'sed' && args.some((arg) => /^(?:-[a-zA-Z]*i|--in-place)/.test(arg))) written.push(...operands)
  if (written.some((path) => isPersistenceFile(path, cwd))) found.push({ id: 'exec.persist.entrance' })
  if (hidesHistory(name, args, [...written, ...(name === 'rm' || name === 'shred' ? operands : [])]))
    found.push({ id: 'exec.evade.history' })
  const opensShell =
    name !== null &&
    /^(?:nc|ncat|netcat|socat)$/.test(name) &&
    args.some((arg) => /^(?:-[a-zA-Z]*[ec]|--exec|--sh-exec)$|^(?:exec|system):/i.test(arg))
  if (opensShell || writes.some((path) => /^\/dev\/(?:tcp|udp)\//.test(path)))
    found.push({ id: 'exec.net.reverse_shell' })
  return found
}

function hidesHistory(name: string | null, args: readonly string[], touched: readonly string[]): boolean {
  if (touched.some((path) => /(?:^|\/)\.(?:bash|zsh|sh)_?history$/.test(path))) return true
  if (name === 'history') return args.some((arg) => /^-[a-z]*c/.test(arg))
  if (name === 'unset') return args.includes('HISTFILE')
  if (name === 'set') return args.includes('+o') && args.includes('history')
  if (name !== '' && name !== 'export' && name !== 'declare' && name !== 'typeset') return false
  return args.some((arg) => /^HIST(?:FILE=(?:["']{2}|\/dev\/null)?$|(?:FILE)?SIZE=["']?0["']?$)/.test(arg))
}

/** True when a push may discard the commits of others: on a protected branch, or on an unknown one. */
function forcedPush({ name, args }: ShellCommand): 'protected' | 'unknown' | null {
  const push = name === 'git' ? args.indexOf('push') : -1
  if (push === -1) return null
  const rest = args.slice(push + 1)
  const [, ...refs] = rest.filter((arg) => !arg.startsWith('-'))
  const isForced = rest.some((arg) => /^(?:-[a-z]*f[a-z]*|--force|--mirror)$/.test(arg))
  const isLeased = rest.some((arg) => arg.startsWith('--force-with-lease'))
  const deletes = rest.some((arg) => arg === '--delete' || arg === '-d')
  const isProtected = (ref: string): boolean => PROTECTED_BRANCH.test(ref.replace(/^\+/, '').split(':').at(-1) ?? '')
  const hit = refs.some(
    (ref) => isProtected(ref) && (isForced || isLeased || deletes || ref.startsWith('+') || ref.startsWith(':')),
  )
  if (hit) return 'protected'
  return isForced && refs.length === 0 ? 'unknown' : null
}
