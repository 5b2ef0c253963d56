/**
 * The end of a process that has met a mistake of its own: what an error says may hold anything, also a secret, so only where
 * it came from is told. What was acknowledged is stored, and commands are the runner's, so nothing is waited for.
 */
import { writeSync } from 'node:fs'

const NAME = /^[A-Za-z_$][\w$]{0,63}$/
/** Codes of the system and of Node, and nothing that somebody could have put there. */
const CODE = /^(?:E[A-Z0-9]{2,15}|ERR_[A-Z0-9_]{2,60})$/
const SYSCALL = /^[a-z_]{1,20}$/
const FRAME = /^ {4}at (?:async )?(?:[\w$.<>[\]# ]+ \((?:file:\/\/|node:|\/)[^()\s]*:\d+:\d+\)|(?:file:\/\/|node:|\/)[^()\s]*:\d+:\d+)$/
const MOST_FRAMES = 20
const MOST_CAUSES = 5

/** What of an error is told: its class, its code, and where it was made. Pure. */
export type CrashReport = { type: string; code?: string; syscall?: string; frames: string[]; cause?: CrashReport }

/** Never holds a message, a property, or a value that was thrown. */
export function crashReport(thrown: unknown, depth = 0): CrashReport {
  if (!(thrown instanceof Error)) return { type: thrown === null ? 'null' : typeof thrown, frames: [] }
  const { code, syscall } = thrown as NodeJS.ErrnoException
  const name = thrown.constructor?.name
  return {
    type: typeof name === 'string' && NAME.test(name) ? name : 'Error',
    ...(typeof code === 'string' && CODE.test(code) ? { code } : {}),
    ...(typeof syscall === 'string' && SYSCALL.test(syscall) ? { syscall } : {}),
    frames: framesOf(thrown),
    ...(thrown.cause === undefined || depth >= MOST_CAUSES ? {} : { cause: crashReport(thrown.cause, depth + 1) }),
  }
}

/** The lines behind the message: a message may have lines that look like these. */
function framesOf({ stack, message }: Error): string[] {
  if (typeof stack !== 'string') return []
  const said = typeof message === 'string' && message !== '' ? stack.indexOf(message) + message.length : 0
  // A message that was changed after the error was made is not the one that stands there.
  if (said > 0 && !stack.includes(message)) return []
  const lines = stack.slice(said).split('\n')
  return lines.filter((line) => FRAME.test(line)).slice(0, MOST_FRAMES)
}

/**
 * From now on an error that nobody caught ends this process with code 1 and one JSON line on standard error, whatever the
 * log level; reports that Node is asked to write have no environment in them.
 */
export function endOnCrash(): void {
  if (process.report !== undefined) process.report.excludeEnv = true
  const end = (kind: string) => (thrown: unknown) => {
    try {
      const line = { level: 60, time: new Date().toISOString(), err: crashReport(thrown), msg: `the server ends: ${kind}` }
      writeSync(2, `${JSON.stringify(line)}\n`)
    } finally {
      process.exit(1)
    }
  }
  process.on('uncaughtException', end('an error that nobody caught'))
  process.on('unhandledRejection', end('a promise that nobody waited for'))
}
