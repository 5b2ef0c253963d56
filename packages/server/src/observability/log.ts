import pino from 'pino'

/** Object first, then the sentence: `log.info({ conversation_id }, 'event committed')`. Never holds a secret. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type LogLevel = 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

/** Members of a line that repeat what others said. */
const SAID = ['err', 'reason'] as const

/**
 * JSON lines on standard error, times in UTC.
 * @param hide takes what is secret out of what errors say
 */
export function openLog(level: LogLevel, hide: <T>(value: T) => T = (value) => value): Log {
  const shown = (value: unknown): unknown =>
    hide(plain(value instanceof Error ? pino.stdSerializers.err(value) : value))
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: Object.fromEntries(SAID.map((name) => [name, shown])),
    },
    pino.destination({ fd: 2, sync: true }),
  )
}

/** As it will stand in the line. An error may carry what is no JSON. */
function plain(value: unknown): unknown {
  try {
    return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown)
  } catch {
    const { type, message, stack } = Object(value) as { type?: unknown; message?: unknown; stack?: unknown }
    return { type: String(type), message: String(message), stack: String(stack) }
  }
}
