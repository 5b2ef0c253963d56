import pino from 'pino'

/** Fields first, then the message: `log.info({ conversation_id }, 'event committed')`. Callers pass no secrets. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type LogLevel = 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

/** Fields that contain text of other programs. */
const FOREIGN_FIELDS = ['err', 'reason'] as const

/**
 * JSON lines on standard error, times in UTC.
 * @param hide masks secrets in these fields
 */
export function openLog(level: LogLevel, hide: <T>(value: T) => T = (value) => value): Log {
  const shown = (value: unknown): unknown =>
    hide(plain(value instanceof Error ? pino.stdSerializers.err(value) : value))
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: Object.fromEntries(FOREIGN_FIELDS.map((name) => [name, shown])),
    },
    pino.destination({ fd: 2, sync: true }),
  )
}

/** The value as JSON data. Members of an error may not be serialisable. */
function plain(value: unknown): unknown {
  try {
    return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown)
  } catch {
    const { type, message, stack } = Object(value) as { type?: unknown; message?: unknown; stack?: unknown }
    return { type: String(type), message: String(message), stack: String(stack) }
  }
}
