/** Commands that run other commands, and the position of the inner command in their words. Pure. */

/** Shells that read commands from `-c`, a file or standard input. */
export const SHELLS: ReadonlySet<string> = new Set([
  'sh',
  'bash',
  'dash',
  'zsh',
  'ksh',
  'mksh',
  'ash',
  'rbash',
  'fish',
  'csh',
  'tcsh',
])
/** Interpreters of other languages that run their standard input. */
export const INTERPRETERS = /^(?:python(?:\d(?:\.\d+)?)?|perl|ruby)$/

/** `takes`: options with a separate value. `operands`: operands before the command. */
type Wrapper = { takes: RegExp; operands?: number; assignments?: boolean }

const WRAPPERS: Record<string, Wrapper> = {
  sudo: {
    takes:
      /^-(?:[a-zA-Z]*[ugpChTrtDRU]|-(?:user|group|prompt|chdir|host|chroot|role|type|close-from|command-timeout|other-user))$/,
    assignments: true,
  },
  doas: { takes: /^-[a-zA-Z]*[uC]$/, assignments: true },
  env: { takes: /^-(?:[i0v]*[uC]|-unset|-chdir)$/, assignments: true },
  timeout: { takes: /^-(?:[ks]|-kill-after|-signal)$/, operands: 1 },
  gtimeout: { takes: /^-(?:[ks]|-kill-after|-signal)$/, operands: 1 },
  nohup: { takes: /^$/ },
  nice: { takes: /^-(?:n|-adjustment)$/ },
  ionice: { takes: /^-(?:[cnpPu]|-class|-classdata)$/ },
  chrt: { takes: /^-[TPD]$/, operands: 1 },
  taskset: { takes: /^$/, operands: 1 },
  stdbuf: { takes: /^-(?:[ioe]|-input|-output|-error)$/ },
  setsid: { takes: /^$/ },
  unbuffer: { takes: /^$/ },
  time: { takes: /^-[fo]$/ },
  command: { takes: /^$/ },
  builtin: { takes: /^$/ },
  exec: { takes: /^-[cl]*a$/ },
  busybox: { takes: /^$/ },
  toybox: { takes: /^$/ },
  chroot: { takes: /^$/, operands: 1 },
  unshare: { takes: /^-(?:[SGR]|-setuid|-setgid|-root)$/ },
  nsenter: { takes: /^-(?:[tSGrw]|-target)$/ },
  strace: { takes: /^-[abeEIoOpPsSuUX]$/ },
  ltrace: { takes: /^-[aAeFlnopsuwx]$/ },
  fakeroot: { takes: /^-[lsib]$/ },
  caffeinate: { takes: /^-[tw]$/ },
  proxychains: { takes: /^-f$/ },
  torsocks: { takes: /^$/ },
  npx: { takes: /^-(?:p|-package)$/ },
  runuser: { takes: /^-(?:[uggG]|-user|-group)$/ },
  setpriv: { takes: /^--(?:reuid|regid|groups)$/ },
  flock: { takes: /^-(?:[wE]|-timeout|-wait|-conflict-exit-code)$/, operands: 1 },
}

export type Unwrapped = {
  words: readonly string[]
  /** Variables that the wrapper sets. */
  assignments: readonly (readonly [string, string])[]
  /** Text that a separate shell runs, as with `env -S`; null: none. */
  script: string | null
  isElevated: boolean
}

/** The inner command of a wrapper; null when `name` is no wrapper or runs nothing. */
export function unwrap(name: string, words: readonly string[]): Unwrapped | null {
  const wrapper = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name]! : undefined
  if (wrapper === undefined) return null
  const isElevated = name === 'sudo' || name === 'doas'
  const assignments: [string, string][] = []
  let operands = wrapper.operands ?? 0
  let at = 1
  for (; at < words.length; at++) {
    const word = words[at]!
    if (word === '--') continue
    if (/^[-+]./.test(word)) {
      // `command -v rm` prints the path and runs nothing.
      if (name === 'command' && /^-[pvV]*[vV]/.test(word)) return null
      const inline = /^(?:-[iv]*S|--split-string=)(.*)$/s.exec(word)
      if (name === 'env' && inline !== null) {
        const script = [inline[1]!, ...words.slice(at + 1)].join(' ')
        return { words: [], assignments, script, isElevated }
      }
      if ((name === 'flock' || name === 'runuser') && (word === '-c' || word === '--command')) {
        return { words: [], assignments, script: words[at + 1] ?? '', isElevated }
      }
      if (wrapper.takes.test(word)) at++
      continue
    }
    const assignment = wrapper.assignments === true ? /^([A-Za-z_]\w*)=(.*)$/s.exec(word) : null
    if (assignment !== null) assignments.push([assignment[1]!, assignment[2]!])
    else if (operands > 0) operands--
    else break
  }
  return at < words.length || assignments.length > 0
    ? { words: words.slice(at), assignments, script: null, isElevated }
    : null
}

/** Source of the program that a shell or interpreter runs. `input`: its standard input. */
export type ShellOperand =
  | { kind: 'text'; text: string; args: readonly string[] }
  | { kind: 'file'; path: string }
  | { kind: 'input' }
  | { kind: 'none' }

/** The program source of a shell, by the option rules of POSIX. Source: agent-core.md 4.6. */
export function shellOperand(words: readonly string[]): ShellOperand {
  let isCommand = false
  let readsInput = false
  let at = 1
  for (; at < words.length; at++) {
    const word = words[at]!
    if (word === '-' || word === '--') {
      at++
      break
    }
    if (!/^[-+]./.test(word)) break
    if (/^--(?:rcfile|init-file)$/.test(word)) at++
    if (word.startsWith('--')) continue
    if (word.startsWith('-') && word.includes('c')) isCommand = true
    if (word.startsWith('-') && word.includes('s')) readsInput = true
    if (/[oO]/.test(word)) at++
  }
  const operand = words[at]
  if (isCommand)
    return operand === undefined ? { kind: 'none' } : { kind: 'text', text: operand, args: words.slice(at + 1) }
  if (operand === undefined || readsInput) return { kind: 'input' }
  return operand === '-' || operand === '/dev/stdin' ? { kind: 'input' } : { kind: 'file', path: operand }
}

/** The program source of Python, Perl or Ruby. */
export function programOperand(args: readonly string[]): ShellOperand {
  const code = args.findIndex((arg) => /^-[a-zA-Z]*[ce]$/.test(arg))
  if (code !== -1) return { kind: 'text', text: args[code + 1] ?? '', args: [] }
  if (args.some((arg) => /^-[a-zA-Z]*m/.test(arg))) return { kind: 'none' }
  const operand = args.find((arg) => !arg.startsWith('-') || arg === '-')
  return operand === undefined || operand === '-' ? { kind: 'input' } : { kind: 'file', path: operand }
}
