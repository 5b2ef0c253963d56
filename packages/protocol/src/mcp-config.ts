/** MCP servers in New Conversation and Store Settings. Source: interface.md, MCPConfig; conversation-service.md 1.1. */
import { z } from 'zod'
import { refusedValue, valueError } from './lax-text.ts'
import { laxInt, no, ok, scalar, type Read } from './lax.ts'
import { splitWords } from './shell-words.ts'
import { list, map } from './lists.ts'

const SCHEMES = new Set(['http:', 'https:', 'ws:', 'wss:'])

function readUrl(value: unknown): Read<string> {
  if (typeof value !== 'string') return no('string_type', 'Input should be a valid string')
  const url = value.trim()
  if (url === '') return refusedValue('URL cannot be empty')
  const parsed = URL.parse(url)
  if (parsed === null || !SCHEMES.has(parsed.protocol) || parsed.hostname === '')
    return refusedValue('URL must have a host and one of the schemes http, https, ws and wss')
  return ok(url)
}
const Url = scalar(readUrl, z.string().meta({ format: 'uri' }))

/** Trimmed text of one pattern, or a `value_error` with `rule`. */
const word = (pattern: RegExp, rule: string) =>
  scalar((value): Read<string> => {
    if (typeof value !== 'string') return no('string_type', 'Input should be a valid string')
    const trimmed = value.trim()
    return pattern.test(trimmed) ? ok(trimmed) : refusedValue(rule)
  }, z.string())

/** An entry may be its URL alone. */
const orUrl = <T extends z.ZodType>(entry: T): T =>
  z.preprocess((value) => (typeof value === 'string' ? { url: value } : value), entry) as unknown as T

const ApiKey = z.string().nullable().default(null)

export const MCPSseServer = orUrl(z.object({ url: Url, api_key: ApiKey }))
export type MCPSseServer = z.infer<typeof MCPSseServer>

export const MCPShttpServer = orUrl(
  z.object({
    url: Url,
    api_key: ApiKey,
    /** Seconds. */
    timeout: laxInt({ ge: 1, le: 3600 }).nullable().default(60),
  }),
)
export type MCPShttpServer = z.infer<typeof MCPShttpServer>

/** Longest text that stands for a list of arguments or for an environment; longer than any that a process can get. */
const MAX_LINE = 131_072

/** True when `text` is short enough to be split; otherwise the issue is added. */
function isLine(text: string, ctx: z.core.$RefinementCtx): boolean {
  if (text.length <= MAX_LINE) return true
  const message = `String should have at most ${MAX_LINE} characters`
  const params = { type: 'string_too_long', ctx: { max_length: MAX_LINE } }
  ctx.addIssue({ code: 'custom', input: text, message, params })
  return false
}

const Args = z
  .preprocess((value, ctx) => {
    if (typeof value !== 'string') return value ?? []
    if (!isLine(value, ctx)) return []
    const words = splitWords(value)
    if (words === null) {
      const message = 'Value error, args has an unclosed quotation'
      ctx.addIssue({ code: 'custom', input: value, message, params: { type: 'value_error', ctx: { error: {} } } })
    }
    return words ?? []
  }, list(z.string()))
  .default([]) as unknown as z.ZodDefault<z.ZodType<string[], string[] | string | null>>

const PAIR = /^\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s

const Env = z
  .preprocess((value, ctx) => {
    if (typeof value !== 'string') return value ?? {}
    if (!isLine(value, ctx)) return {}
    const env: Record<string, string> = {}
    for (const pair of value.split(',')) {
      if (pair.trim() === '') continue
      const [, name, text] = PAIR.exec(pair) ?? []
      if (name === undefined || text === undefined) {
        const message = 'Value error, env must look like NAME=value,OTHER=value'
        ctx.addIssue({ code: 'custom', input: value, message, params: { type: 'value_error', ctx: { error: {} } } })
        break
      }
      env[name] = text.trim()
    }
    return env
  }, map(z.string()))
  .default({}) as unknown as z.ZodDefault<z.ZodType<Record<string, string>, Record<string, string> | string | null>>

export const MCPStdioServer = z.object({
  name: word(/^[A-Za-z0-9_-]+$/, 'Server name can only hold letters, digits, hyphens and underscores'),
  command: word(/^\S+$/, 'Command must be a single executable without spaces; put the rest into args'),
  /** Or one text, split like a shell command. */
  args: Args,
  /** Or one text, `NAME=value,OTHER=value`. */
  env: Env,
})
export type MCPStdioServer = z.infer<typeof MCPStdioServer>

export const MCPConfig = z.strictObject({
  sse_servers: list(MCPSseServer).default([]),
  stdio_servers: list(MCPStdioServer)
    .refine(
      (servers) => new Set(servers.map(({ name }) => name)).size === servers.length,
      valueError('each server needs a name of its own'),
    )
    .default([]),
  shttp_servers: list(MCPShttpServer).default([]),
})
export type MCPConfig = z.infer<typeof MCPConfig>
export type MCPConfigInput = z.input<typeof MCPConfig>
