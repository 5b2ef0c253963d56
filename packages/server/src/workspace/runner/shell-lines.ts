/**
 * The lines that drive a persistent bash.
 *
 * The shell is interactive (job control, Ctrl-C returns to the top level) but reads its commands from a named pipe, not
 * from the terminal: no line length limit, nothing typed for a program can become a command, and nothing is echoed. Its
 * own standard error goes nowhere, so prompts and the trace of our own lines do not show; each command gets the terminal
 * on all three descriptors.
 *
 * A command is two lines. The first says that it begins (until then Ctrl-C would hit the shell while it reads, and tear
 * the line) and evaluates the command. The second, the report, carries a nonce that waits as unread input meanwhile: no
 * variable, argument or history holds it, so no program can print it (F21). The report is made of plain words only, so
 * that a part of it, left by an interrupt, cannot open a quotation that would swallow what follows.
 */

/** Starts an escape sequence that no terminal program uses; removed like any other when its nonce is wrong. */
const TAG = '7717;'

const BEGIN = '__parley_begin'
const REPORT = '__parley_report'
const END = '__parley_end'

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Assigning to these makes bash refuse the whole command. */
const READ_ONLY = new Set(['BASHOPTS', 'BASH_VERSINFO', 'EUID', 'PPID', 'SHELLOPTS', 'UID'])

/** One word for bash that stands on one line, whatever the text. NUL cannot be in a word and is left out. */
export function quoted(text: string): string {
  const escaped = text
    .replaceAll('\0', '')
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'")
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
  return `$'${escaped}'`
}

/** How bash is started: other terminals' descriptors are closed, and the pipe becomes standard input. */
export const bashArguments = (pipe: string, foreign: readonly string[]): string[] => [
  '--norc',
  '--noprofile',
  '-c',
  'pipe=$1; shift; for fd; do eval "exec $fd>&-"; done; exec "$BASH" --norc --noprofile --noediting -i <"$pipe" 2>/dev/null',
  'bash',
  pipe,
  ...foreign,
]

/**
 * The first line: no echo, no flow control by Ctrl-S, no history of any kind, no mail checks, and two functions.
 * Both leave `$?` as they found it, so that the next command sees the exit code of the one before; under `set -e` they
 * must not fail. The report tells the exit code, last background pid, Python interpreter and directory. A variable of one command
 * that it exported itself has become permanent; that is undone, unless its value was changed (F20).
 */
export function setupLine(tty: string): string {
  const terminal = quoted(tty)
  const setup = [
    'stty -echo -ixon; unset HISTFILE MAILCHECK; set +o history +H; PS1= PS2=',
    'END() { case $- in *e*) return 0; esac; return "$1"; }'.replace('END', END),
    `${BEGIN}() { \\local CODE=$?; \\builtin printf '\\033]${TAG}%s\\007' "$1" >${terminal}; ${END} "$CODE"; }`,
    `${REPORT}() { \\local CODE=$? PAIR VALUE; ` +
      `{ \\builtin printf '\\033]${TAG}%s;%s;%s;' "$1" "$CODE" "\${!-}"; ` +
      '\\builtin type -P python || \\builtin type -P python3 || \\builtin :; ' +
      `\\builtin printf ';%s\\007' "\${PWD//[[:cntrl:]]/?}"; } >${terminal} 2>/dev/null; ` +
      '\\shift; for PAIR; do VALUE=${PAIR#*=}; PAIR=${PAIR%%=*}; ' +
      '[[ ${!PAIR-} != ${VALUE//./?}* ]] || \\unset -v "$PAIR" || \\builtin :; done; ' +
      `${END} "$CODE"; }`,
  ]
  const line = setup.join('; ').replaceAll(/\b(CODE|PAIR|VALUE)\b/g, '__parley_$1')
  return `{ ${line}; } <${terminal} >/dev/null 2>&1\n`
}

/**
 * A command with variables that hold for it alone (F20): bash drops them when the command ends, however it ends.
 * `command` in front keeps that true in POSIX mode. The empty line is what a syntax error may swallow.
 */
export function commandLine(
  nonce: string,
  command: string,
  env: Readonly<Record<string, string>>,
  tty: string,
): string {
  const assignments = usable(env).map(([name, value]) => `${name}=${quoted(value)} `)
  const terminal = quoted(tty)
  return `${BEGIN} ${nonce}; ${assignments.join('')}\\command eval ${quoted(command)} 0<>${terminal} 1>&0 2>&0\n\n`
}

/** Asks for the report; a dot stands for any character, and the first ones are enough to know a value again. */
export function reportLine(nonce: string, env: Readonly<Record<string, string>>): string {
  const known = usable(env).map(([name, value]) => ` ${name}=${value.slice(0, 200).replaceAll(/[^A-Za-z0-9]/g, '.')}`)
  return `${REPORT} ${nonce}${known.join('')}\n`
}

/** The nonce of a sequence that says that a command begins, or null. */
export function parseBegin(payload: string): string | null {
  return payload.startsWith(TAG) && !payload.includes(';', TAG.length) ? payload.slice(TAG.length) : null
}

export type Report = {
  nonce: string
  exit_code: number
  backgroundPid: number | null
  python: string | null
  cwd: string
}

/** The payload of a report sequence, or null when it is something else's. */
export function parseReport(payload: string): Report | null {
  if (!payload.startsWith(TAG)) return null
  const [nonce, code, background, python, ...cwd] = payload.slice(TAG.length).split(';')
  const exit_code = Number(code)
  if (nonce === undefined || code === undefined || !Number.isInteger(exit_code)) return null
  return {
    nonce,
    exit_code,
    backgroundPid: background === undefined || background === '' ? null : Number(background),
    python: python?.trim() || null,
    cwd: cwd.join(';'),
  }
}

function usable(env: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(env).filter(([name]) => NAME.test(name) && !READ_ONLY.has(name))
}
