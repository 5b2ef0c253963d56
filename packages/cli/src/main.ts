#!/usr/bin/env node
/** `parley`: chooses the command and loads only its module, so that every command starts fast. */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { helpText, parse, UsageError, type Command } from './args.ts'
import { printLine, processIo, type Io } from './io.ts'
import { VERSION } from './version.ts'

type Load = () => Promise<{ spec: unknown }>

/** Without a command. */
const SESSION: Load = () => import('./commands/session.ts')

const COMMANDS: Record<string, { about: string; load: Load }> = {
  serve: { about: 'start the server', load: () => import('./commands/serve.ts') },
  open: { about: 'print a link that opens the web UI', load: () => import('./commands/open.ts') },
  demo: { about: 'watch a whole conversation, no model key needed', load: () => import('./commands/demo.ts') },
  chat: { about: 'talk to a conversation in the terminal', load: () => import('./commands/chat.ts') },
  run: { about: 'send one message and print the answer, for scripts', load: () => import('./commands/run.ts') },
  ls: { about: 'list conversations', load: () => import('./commands/ls.ts') },
  tail: { about: 'print the events of a conversation as they come', load: () => import('./commands/tail.ts') },
  keys: { about: 'create, list, revoke and rotate keys', load: () => import('./commands/keys.ts') },
  users: { about: 'list, disable, enable and delete users', load: () => import('./commands/users.ts') },
  webhooks: { about: 'list, store and remove targets of webhooks', load: () => import('./commands/webhooks.ts') },
  secrets: {
    about: 'replace the key that stored secrets are sealed with',
    load: () => import('./commands/secrets.ts'),
  },
  fleet: { about: 'print the nodes that share a store', load: () => import('./commands/fleet.ts') },
  audit: { about: 'check an append-only audit file', load: () => import('./commands/audit.ts') },
  backup: { about: 'copy the data of a server, also while it runs', load: () => import('./commands/backup.ts') },
  restore: { about: 'restore a backup into a new data directory', load: () => import('./commands/restore.ts') },
  export: { about: 'move the store into a PostgreSQL database', load: () => import('./commands/export.ts') },
  import: { about: 'move the store from a PostgreSQL database back', load: () => import('./commands/import.ts') },
  config: { about: 'show what is in force and where it came from', load: () => import('./commands/config.ts') },
  doctor: { about: 'check what a start will need', load: () => import('./commands/doctor.ts') },
}

/** Runs one command line. Resolves to the exit code: 0 success, 1 failure, 2 unusable command line. */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  const [name, ...rest] = argv
  if (name === undefined && io.stdin.isTTY === true && io.stdout.isTTY === true) return runCommand('', SESSION, [], io)
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    printLine(io, overview())
    return name === undefined ? 2 : 0
  }
  if (name === '--version' || name === '-V') {
    printLine(io, VERSION)
    return 0
  }
  if (name.startsWith('-')) return runCommand('', SESSION, argv, io)
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (entry === undefined) {
    io.stderr.write(`parley: there is no command "${name}"; see parley --help\n`)
    return 2
  }
  return runCommand(name, entry.load, rest, io)
}

async function runCommand(name: string, load: Load, rest: readonly string[], io: Io): Promise<number> {
  try {
    const spec = (await load()).spec as Command
    const { flags, words, help } = parse(spec, rest)
    if (!help) return await spec.run({ flags, words }, io)
    printLine(io, helpText(spec))
    return 0
  } catch (error) {
    io.stderr.write(`${explain(name, error, io.env['PARLEY_DEBUG'] === '1')}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length))
  const lines = Object.entries(COMMANDS).map(([name, { about }]) => `  ${name.padEnd(width)}  ${about}`)
  return [
    'usage: parley COMMAND [flags]',
    '       parley [flags]  begins a conversation in this directory; parley --continue continues the newest one',
    '',
    ...lines,
    '',
    'parley COMMAND --help shows the flags of a command, parley --version the version.',
  ].join('\n')
}

function explain(name: string, error: unknown, withStack: boolean): string {
  const called = `parley ${name}`.trim()
  if (!(error instanceof Error)) return `${called}: ${String(error)}`
  if (error instanceof UsageError) return `${called}: ${error.message}\nsee ${called} --help`
  return `${called}: ${withStack ? (error.stack ?? error.message) : error.message}`
}

if (import.meta.main) {
  const io = processIo()
  // Not Node's default below /tmp, where other users could place code first.
  enableCompileCache(join(io.env['XDG_CACHE_HOME'] ?? join(io.home, '.cache'), 'parley', 'compiled'))
  process.exitCode = await main(process.argv.slice(2), io)
}
