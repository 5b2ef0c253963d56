/** Report of an uncaught error without its message, which may contain a secret. Pure. */

const NAME = /^[A-Za-z_$][\w$]{0,63}$/
/** Codes of the system and of Node; other texts could contain anything. */
const CODE = /^(?:E[A-Z0-9]{2,15}|ERR_[A-Z0-9_]{2,60})$/
const SYSCALL = /^[a-z_]{1,20}$/
const FRAME =
  /^ {4}at (?:async )?(?:[\w$.<>[\]# ]+ \((?:file:\/\/|node:|\/)[^()\s]*:\d+:\d+\)|(?:file:\/\/|node:|\/)[^()\s]*:\d+:\d+)$/
const MOST_FRAMES = 20
const MOST_CAUSES = 5

/** Class, code and stack frames of an error. */
export type CrashReport = { type: string; code?: string; syscall?: string; frames: string[]; cause?: CrashReport }

/** The report never contains a message, another property, or a thrown value. */
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

/** The stack frames after the message, because lines of the message may look like frames. */
function framesOf({ stack, message }: Error): string[] {
  if (typeof stack !== 'string') return []
  const said = typeof message === 'string' && message !== '' ? stack.indexOf(message) + message.length : 0
  // The stack contains the original message, which may have been changed since.
  if (said > 0 && !stack.includes(message)) return []
  const lines = stack.slice(said).split('\n')
  return lines.filter((line) => FRAME.test(line)).slice(0, MOST_FRAMES)
}
