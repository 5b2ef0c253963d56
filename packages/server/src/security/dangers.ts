/** What is dangerous about commands, told from their names and words alone. Pure. Source: agent-core.md 4.6, 4.7; F75. */
import { isCatastrophic, isEntrance, isRawDevice, isSystemFolder } from './paths.ts'
import { type ShellCommand, type ShellScan, UNKNOWN } from './shell.ts'
import { findOf } from './shell/found.ts'

export type Rail = 'fetch-to-exec' | 'raw-disk-op' | 'catastrophic-delete'
/** `rail`: also a rail that no policy of patterns can take away. */
export type Danger = { id: string; rail?: Rail }

export type Dangers = {
  found: readonly Danger[]
  /** Something has the shape of a danger and can't be read. */
  isUncertain: boolean
  /** Not all of it was looked at. */
  isPartial: boolean
}

/** Commands that only say, look for or keep what they are told. */
const SPEAKERS =
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

/** Flags up to `--`; a long one may be shortened as far as it stays itself. What can't be read adds nothing. */
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
    const { roots, isFiltered, deletes } = findOf(['find', ...args])
    const isWhole = roots.some((root) => isCatastrophe(root) && (!isFiltered || /^[/~]/.test(root)))
    return deletes && isWhole ? [{ id: 'exec.destruct.find_delete', rail: 'catastrophic-delete' }] : []
  }
  if (name !== 'rm') {
    // Somebody else's command may be told to run it, as a container is.
    const at = name === null || SPEAKERS.test(name) ? -1 : args.findIndex((arg) => /^(?:\/\S*\/)?rm$/i.test(arg))
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

/** Deletes by force and with everything below, under a name or in a form that can't be read. */
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
  // The last operand is what is written; a device before it is only read.
  (/^(?:cp|mv)$/.test(name) && !isRawDevice(args.at(-1) ?? ''))

function permissions({ name, args, cwd }: ShellCommand): Danger[] {
  if (name !== 'chmod' && name !== 'chown' && name !== 'chgrp') return []
  const isRecursive = args.some((arg) => /^(?:-[a-zA-Z]*R|--recursive)/.test(arg))
  const [, ...targets] = args.filter((arg) => !/^-[a-zA-Z-]*[RfvcHLP]|^--/.test(arg))
  return isRecursive && targets.some((target) => isSystemFolder(target, cwd)) ? [{ id: 'exec.system.permissions' }] : []
}

/** What stays behind after the command has ended, or hides that it ran. */
function persistence({ name, args, writes, cwd }: ShellCommand): Danger[] {
  const found: Danger[] = []
  const operands = args.filter((arg) => !arg.startsWith('-'))
  const target = operands.at(-1) ?? ''
  const written = [...writes]
  if (name !== null && /^(?:cp|mv|install|ln)$/.test(name)) written.push(target)
  if (name === 'tee' || name === 'truncate') written.push(...operands)
  if (name === 'sed' && args.some((arg) => /^(?:-[a-zA-Z]*i|--in-place)/.test(arg))) written.push(...operands)
  if (written.some((path) => isEntrance(path, cwd))) found.push({ id: 'exec.persist.entrance' })
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

/** A push that throws away what others have pushed: to a protected branch, or nobody can tell where to. */
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
